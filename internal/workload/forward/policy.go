package forward

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/egress"
)

// policyFile is read again while the relay runs: a change of the policy must not end tunnels.
type policyFile struct {
	path   string // empty: nothing is opened
	getenv func(string) string
	text   string
}

// policyInterval is how often the file is looked at. The kubelet takes a minute to bring a change.
const policyInterval = 5 * time.Second

func (f *policyFile) read() (egress.Policy, error) {
	var policy egress.Policy
	if f.path != "" {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return egress.Policy{}, err
		}
		f.text = string(text)
		if policy, err = egress.ParsePolicy(text); err != nil {
			return egress.Policy{}, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return deniedHere(policy, f.getenv)
}

// follow gives the proxy what the file says, until the context is done. What cannot be read changes nothing.
func (f *policyFile) follow(ctx context.Context, proxy *Proxy) {
	ticker := time.NewTicker(policyInterval)
	defer ticker.Stop()
	for f.path != "" {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look(proxy)
		}
	}
}

func (f *policyFile) look(proxy *Proxy) {
	if text, err := os.ReadFile(f.path); err == nil && string(text) == f.text {
		return
	}
	policy, err := f.read()
	if err != nil {
		proxy.Log.Error("the policy stays as it is", "reason", err)
		return
	}
	proxy.SetPolicy(policy)
	proxy.Log.Info("the policy has changed", "file", f.path)
}

// deniedHere adds what only the pod knows: the addresses of its node, which the chart hands in, and the API server, which
// every pod has: its address, or on some clouds its name.
func deniedHere(policy egress.Policy, getenv func(string) string) (egress.Policy, error) {
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "HOST_IPS"} {
		for text := range strings.SplitSeq(getenv(name), ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			addr, err := netip.ParseAddr(text)
			switch {
			case err == nil:
				policy.Denied = append(policy.Denied, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
			case name == "KUBERNETES_SERVICE_HOST":
				policy.DeniedNames = append(policy.DeniedNames, strings.ToLower(strings.TrimSuffix(text, ".")))
			default:
				return egress.Policy{}, fmt.Errorf("the variable %s: %q is not an address", name, text)
			}
		}
	}
	return policy, nil
}
