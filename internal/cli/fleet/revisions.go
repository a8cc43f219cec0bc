package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// as returns the settings of the revision in the report of a cluster: a rollout may not have come to it yet, or was undone. Nil
// stands for what its CorporateProxy says now.
func (s settings) as(now *chosen, report *v1alpha1.ProxyReport) *chosen {
	if now.proxy == nil || now.proxy.Spec.Rollout == nil || report == nil || report.Status.Revision == nil {
		return nil
	}
	has, newest := report.Status.Revision, s.publics[now.proxy.Name]
	if has.Proxy != now.proxy.Name || has.Number == newest.Number && has.Digest == newest.Digest {
		return nil
	}
	name := revision.Name(has.Proxy, has.Number) + " " + has.Digest
	if c, ok := s.had[name]; ok {
		return c
	}
	s.had[name] = nil
	at := slices.IndexFunc(s.numbers[has.Number], func(p revision.Public) bool { return p.Proxy == has.Proxy && p.Digest == has.Digest })
	if at >= 0 {
		s.had[name] = s.ofRevision(now.proxy, s.numbers[has.Number][at])
	}
	return s.had[name]
}

// ofRevision reads a CorporateProxy as it was.
func (s settings) ofRevision(now *v1alpha1.CorporateProxy, public revision.Public) *chosen {
	was := now.DeepCopy()
	was.Spec = *public.Spec.DeepCopy()
	was.Spec.Rollout = now.Spec.Rollout
	c := s.of(was, func() (map[string][]byte, error) {
		return inputs.PlainValues(public.HTTP, public.HTTPS, public.SourceEntries), nil
	})
	c.proxy = now
	if bundle := c.installation.Node.TrustedCA; bundle != nil {
		if sum := sha256.Sum256(bundle); hex.EncodeToString(sum[:]) != public.TrustedCA {
			c.installation.Node.TrustedCA, c.unread.TrustedCA = nil, fmt.Sprintf("as of revision %d", public.Number)
		}
	}
	return c
}

// unchanged names the CorporateProxies that mean the same in both states.
func unchanged(was, is *objects) map[string]bool {
	before, same := map[string]*chosen{}, map[string]bool{}
	for s, proxy := range was.proxies() {
		before[proxy.Name] = s.chosen(proxy)
	}
	for s, proxy := range is.proxies() {
		then, now := before[proxy.Name], s.chosen(proxy)
		if then != nil && then.err == nil && now.err == nil {
			same[proxy.Name] = then.unread == now.unread && reflect.DeepEqual(then.installation, now.installation)
		}
	}
	return same
}
