package probe

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// RelayClient decides as a relay reads NO_PROXY. All other clients are those of package dialect.
const RelayClient = "relay"

// chooser says which way the settings choose for a destination, and why. The way is empty if the client goes nowhere.
type chooser func(probe.Destination) (way probe.Route, why string)

// newChooser reads the settings as a client does. The error says which clients there are.
func newChooser(client string, settings *upstream.Settings) (chooser, error) {
	if client == RelayClient {
		return relayChooser(settings), nil
	}
	found, err := dialect.Find(client)
	if err != nil {
		return nil, err
	}
	shown := func(p upstream.Proxy) string {
		if p.URL.IsZero() {
			return ""
		}
		return p.URL.WithoutCredentials().String()
	}
	entries, _ := noproxy.ParseList(settings.NoProxy, noproxy.Source{}) // Java reads what can be read
	java, _ := noproxy.NonProxyHosts(entries)
	env := dialect.Uniform(shown(settings.HTTP), shown(settings.HTTPS), settings.NoProxy, java)
	decide := found.Newest().Read(env)
	return func(d probe.Destination) (probe.Route, string) {
		scheme := d.Scheme
		if scheme == "tcp" {
			scheme = "https" // as programs that ask Go's function do
		}
		target, err := dialect.ParseTarget(scheme + "://" + d.Address())
		if err != nil {
			return "", err.Error()
		}
		decision := decide(target)
		why := fmt.Sprintf("%s: %s", found.Name, decision.Reason)
		if entry := decision.Entry.Of(env[decision.Variable]); entry != "" {
			why = fmt.Sprintf("%s: %s of %s (%s)", found.Name, entry, decision.Variable, decision.Reason)
		}
		return map[dialect.Route]probe.Route{dialect.Direct: probe.Direct, dialect.Proxy: probe.Proxied}[decision.Route], why
	}, nil
}

// relayChooser returns how the relay chooses.
func relayChooser(settings *upstream.Settings) chooser {
	return func(d probe.Destination) (probe.Route, string) {
		if why := settings.Direct(d.Scheme, d.Address()); why != "" {
			return probe.Direct, why
		}
		return probe.Proxied, ""
	}
}
