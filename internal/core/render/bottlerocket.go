package render

import (
	"encoding/json"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Bottlerocket returns the settings for the user data of Bottlerocket, none without a proxy. There is no setting for http
// URLs (bottlerocket-os/bottlerocket-settings-sdk, settings.network). What JSON quotes, TOML reads alike.
func Bottlerocket(e resolve.Effective) ([]byte, error) {
	switch {
	case !e.HasProxy():
		return nil, nil
	case e.HTTPS.IsZero():
		return nil, problemAt(e, "bottlerocket", notCarriable("there is a proxy for http URLs alone, for which Bottlerocket has no setting"))
	}
	proxy, err := json.Marshal(e.HTTPS.Reveal())
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(e.NoProxy.For(noproxy.AudienceGo).Texts())
	return fmt.Appendf(nil, "[settings.network]\nhttps-proxy = %s\nno-proxy = %s\n", proxy, list), err
}
