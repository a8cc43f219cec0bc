package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// settings has the CorporateProxies that clusters choose from, or one file of values.
type settings struct {
	proxies []v1alpha1.CorporateProxy
	named   document.Named
	publics map[string]revision.Public  // the newest of each CorporateProxy
	numbers map[int64][]revision.Public // all, by their number
	values  *chosen
	read    map[string]*chosen
	had     map[string]*chosen // by the name of a revision
	unknown map[string]bool    // CorporateProxies whose Secret is not known in one of the two states
}

// chosen is one CorporateProxy, or a file of values, as it was resolved.
type chosen struct {
	proxy        *v1alpha1.CorporateProxy // nil for values
	installation resolve.Installation
	unread       plan.Unread
	waves        rollout.Policy
	err          error
}

func readSettings(given Part, now time.Time) (settings, error) {
	s := settings{named: document.NamedOf(given.Documents), publics: map[string]revision.Public{}, numbers: map[int64][]revision.Public{}, read: map[string]*chosen{}, had: map[string]*chosen{}}
	if given.Values != nil {
		s.values = ofValues(*given.Values)
		return s, nil
	}
	var err error
	if s.proxies, err = document.OfKind[v1alpha1.CorporateProxy](given.Documents, "CorporateProxy"); err != nil {
		return s, err
	}
	if err := checkOnce(s.proxies); err != nil {
		return s, err
	}
	s.proxies = inputs.AllInEffect(s.proxies, now)
	for _, d := range given.Documents {
		public, ok := publicOf(d)
		if !ok {
			continue
		}
		s.numbers[public.Number] = append(s.numbers[public.Number], public)
		if public.Number > s.publics[public.Proxy].Number {
			s.publics[public.Proxy] = public
		}
	}
	return s, nil
}

// publicOf reads the ConfigMap of a revision. One that is broken says nothing.
func publicOf(d document.Document) (revision.Public, bool) {
	_, number, ok := revision.ParseName(d.Object.GetName())
	if !ok || !d.Is("ConfigMap", "v1") || d.Object.GetLabels()[v1alpha1.RevisionLabel] != strconv.FormatInt(number, 10) {
		return revision.Public{}, false
	}
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := d.Fill(&configMap); err != nil {
		return revision.Public{}, false
	}
	public, err := revision.ParsePublic(configMap.Data)
	return public, err == nil
}

func ofValues(v Values) *chosen {
	c := &chosen{}
	c.installation, c.err = inputs.Values(v.File, v.Data)
	if i := c.installation; i.HTTP.HasCredentials() || i.HTTPS.HasCredentials() {
		c.unread.Credentials = v.File
	}
	if !c.installation.Previous.IsZero() {
		c.unread.Previous = v.File
	}
	return c
}

// choose returns what a cluster gets. The error is a *resolve.Problem, or about a file.
func (s settings) choose(cluster *clusterv1.Cluster, namespace map[string]string, has resolve.Has) (*chosen, error) {
	if s.values != nil {
		return s.values, s.values.err
	}
	proxy, err := inputs.ChooseProxy(s.proxies, cluster, namespace, has)
	if err != nil {
		return nil, err
	}
	c := s.chosen(proxy)
	return c, c.err
}

// isUnknown reports whether the list and the URLs of a CorporateProxy are not to be compared.
func (s settings) isUnknown(proxy *v1alpha1.CorporateProxy) bool {
	return proxy.Spec.Source.ValuesRef != nil && s.unknown[proxy.Name]
}

// chosen reads a CorporateProxy once.
func (s settings) chosen(proxy *v1alpha1.CorporateProxy) *chosen {
	if c := s.read[proxy.Name]; c != nil {
		return c
	}
	values := func() (map[string][]byte, error) { return s.valuesOf(proxy) }
	if s.isUnknown(proxy) {
		data, err := values()
		if err != nil || data == nil || s.of(proxy, values).err == nil { // what is known is not compared, but it may be invalid
			values = func() (map[string][]byte, error) { return inputs.PlainValues(standIn, standIn, nil), nil }
		}
	}
	c := s.of(proxy, values)
	c.proxy = proxy
	s.read[proxy.Name] = c
	return c
}

// standIn is the URL of a proxy that stands in a Secret which is not known.
const standIn = "http://not-known.invalid:1"

// of reads a CorporateProxy, with the data of the Secret that valuesRef names.
func (s settings) of(proxy *v1alpha1.CorporateProxy, values func() (map[string][]byte, error)) *chosen {
	c := &chosen{unread: unreadOf(proxy)}
	plain := proxy.DeepCopy()
	if url := plain.Spec.Source.URL; url != nil {
		url.CredentialsRef = nil
	}
	if ref := plain.Spec.Source.ValuesRef; ref != nil {
		ref.Next = nil // whose data values returns
	}
	if ref := plain.Spec.TrustedCARef; ref != nil {
		if data, err := s.named.Operators(inputs.References(&v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{TrustedCARef: ref}})[0]); data == nil && err == nil {
			plain.Spec.TrustedCARef = nil
		} else {
			c.unread.TrustedCA = ""
		}
	}
	c.installation, c.err = inputs.Installation(plain, func(ref inputs.Reference) (map[string][]byte, error) {
		if v := plain.Spec.Source.ValuesRef; v == nil || ref != (inputs.Reference{Kind: inputs.KindSecret, Name: v.Name}) {
			return s.named.Operators(ref)
		}
		return values()
	})
	if proxy.Spec.Rollout != nil {
		c.waves, _ = rollout.ParsePolicy(*proxy.Spec.Rollout) // rollouts says what is wrong with it
	}
	return c
}

// valuesOf returns the data of the Secret that valuesRef names, or of its public half; nil if neither is known.
func (s settings) valuesOf(proxy *v1alpha1.CorporateProxy) (map[string][]byte, error) {
	ref := proxy.Spec.Source.ValuesRef
	data, err := s.named.Operators(inputs.Reference{Kind: inputs.KindSecret, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	public, ok := s.publics[proxy.Name]
	was := public.Spec.Source.ValuesRef
	same := ok && was != nil && was.Name == ref.Name && (ref.Next == nil) == (was.Next == nil) && (ref.Next == nil || *ref.Next == *was.Next)
	plain := data == nil && same
	if plain {
		data = inputs.PlainValues(public.HTTP, public.HTTPS, public.SourceEntries)
	}
	if ref.Next == nil || data == nil || same && len(s.named[inputs.Reference{Kind: inputs.KindSecret, Name: ref.Next.Name}]) == 0 {
		return data, nil
	}
	next, err := s.named.Operators(inputs.Reference{Kind: inputs.KindSecret, Name: ref.Next.Name})
	if next == nil || err != nil {
		return nil, err
	}
	if plain { // the previous URLs have no credentials here, which would be refused
		data = inputs.PlainValues("", "", public.SourceEntries)
	}
	return inputs.Succeeded(next, data), nil
}

// secret is the Secret with the list and the URLs of a CorporateProxy, and whether its content is known.
type secret struct {
	name string
	data map[string][]byte
	err  error
}

func (o *objects) secrets() map[string]secret {
	all := map[string]secret{}
	for s, proxy := range o.proxies() {
		if ref := proxy.Spec.Source.ValuesRef; ref != nil {
			data, err := s.valuesOf(proxy)
			all[proxy.Name] = secret{ref.Name, data, err}
		}
	}
	return all
}

// unknownInOne names the CorporateProxies whose Secret is not known in one of two states; the sentences are about those whose
// Secret is known in the other, so that nobody can say what it changes.
func unknownInOne(before, after map[string]secret) (unknown map[string]bool, sentences []string) {
	unknown = map[string]bool{}
	for _, state := range []map[string]secret{before, after} {
		for proxy, s := range state {
			if s.data == nil && s.err == nil {
				unknown[proxy] = true
			}
		}
	}
	for proxy, s := range after {
		had, ok := before[proxy]
		if !ok || s.err != nil || had.err != nil || (had.data == nil) == (s.data == nil) {
			continue
		}
		name, side := s.name, "before"
		if s.data == nil {
			name, side = had.name, "after"
		}
		sentences = append(sentences, fmt.Sprintf("CorporateProxy %s: what Secret %s has %s the change is not known, so it cannot be said what becomes of its list and URLs.", proxy, name, side))
	}
	slices.Sort(sentences)
	return unknown, sentences
}

// unreadOf names the objects that are compared by their names alone.
func unreadOf(proxy *v1alpha1.CorporateProxy) plan.Unread {
	var u plan.Unread
	for _, named := range inputs.Named(proxy) {
		switch named.Role {
		case "source":
			u.Credentials = named.String()
		case "next":
			u.Credentials, u.Previous = named.String(), u.Credentials
		case "trustedCA":
			u.TrustedCA = named.String()
			for key := range named.Keys {
				u.TrustedCA += " " + key
			}
		}
	}
	return u
}

func (s settings) rollouts() []plan.Rollout {
	var all []plan.Rollout
	for _, proxy := range s.proxies {
		if proxy.Spec.Rollout == nil {
			continue
		}
		r := plan.Rollout{Proxy: proxy.Name, Paused: proxy.Spec.Rollout.Paused}
		if _, err := rollout.ParsePolicy(*proxy.Spec.Rollout); err != nil {
			r.Invalid = err.Error()
		}
		for _, w := range proxy.Spec.Rollout.Waves {
			r.Waves = append(r.Waves, w.Name)
		}
		all = append(all, r)
	}
	return all
}

// notes returns a sentence about each CorporateProxy whose list and URLs are not known.
func (s settings) notes() []string {
	var all []string
	for _, proxy := range s.proxies {
		if s.isUnknown(&proxy) {
			all = append(all, fmt.Sprintf("CorporateProxy %s: the list and the URLs in Secret %s are not known here, so only what stands in the objects is compared.",
				proxy.Name, proxy.Spec.Source.ValuesRef.Name))
		}
	}
	slices.Sort(all)
	return all
}
