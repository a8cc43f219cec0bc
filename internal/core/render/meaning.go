package render

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Meaning returns what a machine is told, in a canonical text that is only good
// for comparing, and holds the password. Two configurations of one meaning need
// no machine to be replaced: the order of a list is not in it, nor in which
// further keys of the Secret the same is written, nor what a machine's relay reads
// again while it runs.
//
// The text is compared with that of earlier versions of Fairlead. What is added to
// it, leave out while it is empty: an upgrade would be a change for every fleet.
func Meaning(e resolve.Effective) ([]byte, error) {
	told := OnMachine(e)
	return json.Marshal(struct {
		HTTP, HTTPS string
		Go, Any     []string
		TrustedCA   []string
		StaticPods  resolve.StaticPods
	}{
		told.HTTP.Reveal(), told.HTTPS.Reveal(),
		set(e.NoProxy.Go.Texts()), set(e.NoProxy.Any.Texts()),
		set(strings.SplitAfter(string(e.Node.TrustedCA), "-----END CERTIFICATE-----\n")),
		cmp.Or(e.Node.StaticPods, resolve.StaticPodsStrip),
	})
}

// Account returns the credentials of both URLs, in a canonical text that is only good for comparing, and holds the
// password; nil without any. The proxy that they are for is not in it.
func Account(http, https proxyurl.URL) []byte {
	var all []string
	for _, u := range []proxyurl.URL{http, https} {
		_, rest, _ := strings.Cut(u.Reveal(), "://")
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			decoded, err := url.PathUnescape(rest[:at])
			if err != nil {
				decoded = rest[:at]
			}
			all = append(all, decoded)
		}
	}
	if all == nil {
		return nil
	}
	text, _ := json.Marshal(set(all)) // strings
	return text
}

func set(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
