package importing

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// rke2 is the environment of rke2-server, rke2-agent or k3s: /etc/default/rke2-server, /etc/systemd/system/k3s.service.env.
// Variables with the prefix CONTAINERD_ are for containerd alone.
var rke2 = &Format{
	Name: "rke2", Title: "RKE2 or K3s",
	detect: func(f *file) bool { return looksLikeVariables(f) && isRKE2(f) },
	read: func(f *file) (Settings, error) {
		s, err := readVariables(f)
		s.oneList()
		return s, err
	},
	adds: rke2Adds,
}

// oneList puts the entries of no_proxy into NO_PROXY, and removes it.
func (s *Settings) oneList() {
	s.Lists = map[string][]Entry{proxyenv.NoProxy: slices.Concat(s.Lists[proxyenv.NoProxy], s.Lists[proxyenv.LowerNoProxy])}
	s.Variables = append(slices.DeleteFunc(s.Variables, proxyenv.IsList), proxyenv.NoProxy)
	s.Blank = slices.DeleteFunc(s.Blank, proxyenv.IsList)
}

func isRKE2(f *file) bool {
	if base := f.base(); strings.Contains(base, "rke2") || strings.Contains(base, "k3s") {
		return true
	}
	for _, a := range unitfile.Assignments(f.data) {
		if strings.HasPrefix(a.Name, containerdPrefix) {
			return true
		}
	}
	return false
}

// rke2Adds is read in k3s-io/k3s pkg/server/server.go (setNoProxyEnv), as is what becomes of no_proxy.
func rke2Adds(_ Settings, c resolve.Cluster) (before, after []Entry) {
	return nil, added("RKE2", []string{".svc", "." + domainOf(c)}, c.PodCIDRs, c.ServiceCIDRs)
}
