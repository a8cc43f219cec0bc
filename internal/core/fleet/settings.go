package fleet

import (
	"cmp"
	"errors"
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

// settings is what clusters choose from: CorporateProxies, or one file of values.
type settings struct {
	proxies []v1alpha1.CorporateProxy
	named   document.Named
	publics map[string]revision.Public  // the newest of each CorporateProxy
	numbers map[int64][]revision.Public // all, by their number
	values  *chosen
	read    map[string]*chosen
	had     map[string]*chosen // by the name of a revision
}

// chosen is what one CorporateProxy, or a file of values, means.
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
	seen := map[string]bool{}
	for _, proxy := range s.proxies {
		if seen[proxy.Name] {
			return s, fmt.Errorf("CorporateProxy %s is given more than once", proxy.Name)
		}
		seen[proxy.Name] = true
	}
	s.proxies = inputs.AllInEffect(s.proxies, now)
	for _, d := range given.Documents {
		if _, number, is := revision.ParseName(d.Object.GetName()); !is || !d.Is("ConfigMap", "v1") || d.Object.GetLabels()[v1alpha1.RevisionLabel] != strconv.FormatInt(number, 10) {
			continue
		}
		public, err := publicOf(d)
		if err != nil { // one that is broken says nothing
			continue
		}
		s.numbers[public.Number] = append(s.numbers[public.Number], public)
		if public.Number > s.publics[public.Proxy].Number {
			s.publics[public.Proxy] = public
		}
	}
	return s, nil
}

func publicOf(d document.Document) (revision.Public, error) {
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := d.Fill(&configMap); err != nil {
		return revision.Public{}, err
	}
	return revision.ParsePublic(configMap.Data)
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
func (s settings) choose(cluster *clusterv1.Cluster, namespace map[string]string, has resolve.Has, unknown map[string]bool) (*chosen, error) {
	if s.values != nil {
		return s.values, s.values.err
	}
	proxy, err := inputs.ChooseProxy(s.proxies, cluster, namespace, has)
	if err != nil {
		return nil, err
	}
	c := s.chosen(proxy, unknown[proxy.Name])
	return c, c.err
}

// chosen reads a CorporateProxy once.
func (s settings) chosen(proxy *v1alpha1.CorporateProxy, unknown bool) *chosen {
	c := s.read[proxy.Name]
	if c == nil {
		if data, err := s.dataOf(proxy); unknown && err == nil && data != nil { // not to be compared, but it may be invalid
			if c = s.of(proxy, func() (map[string][]byte, error) { return data, nil }); c.err != nil {
				c.proxy, s.read[proxy.Name] = proxy, c
				return c
			}
		}
		c = s.of(proxy, func() (map[string][]byte, error) {
			if unknown {
				return inputs.PlainValues(standIn, standIn, nil), nil
			}
			return s.valuesOf(proxy)
		})
		c.proxy = proxy
		s.read[proxy.Name] = c
	}
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

// valuesOf is the data of the Secret that valuesRef names, or of its public half; nil if neither is known.
func (s settings) valuesOf(proxy *v1alpha1.CorporateProxy) (map[string][]byte, error) {
	ref := proxy.Spec.Source.ValuesRef
	data, err := s.named.Operators(inputs.Reference{Kind: inputs.KindSecret, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	public, has := s.publics[proxy.Name]
	was := public.Spec.Source.ValuesRef
	same := has && was != nil && was.Name == ref.Name && (ref.Next == nil) == (was.Next == nil) && (ref.Next == nil || *ref.Next == *was.Next)
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
	if plain { // the URLs of before have no credentials here, which would be refused
		data = inputs.PlainValues("", "", public.SourceEntries)
	}
	return inputs.Succeeded(next, data), nil
}

// dataOf is valuesOf where the CorporateProxy names such a Secret.
func (s settings) dataOf(proxy *v1alpha1.CorporateProxy) (map[string][]byte, error) {
	if proxy.Spec.Source.ValuesRef == nil {
		return nil, nil
	}
	return s.valuesOf(proxy)
}

// given says which Secrets are known in one of two states alone, so that nobody can say what they change.
func given(was, is *objects) []string {
	known := func(o *objects) map[string]string {
		all := map[string]string{}
		for _, p := range o.parts {
			for i := range p.settings.proxies {
				proxy := &p.settings.proxies[i]
				if data, err := p.settings.dataOf(proxy); err == nil && proxy.Spec.Source.ValuesRef != nil {
					all[proxy.Name] = ""
					if data != nil {
						all[proxy.Name] = proxy.Spec.Source.ValuesRef.Name
					}
				}
			}
		}
		return all
	}
	before, after := known(was), known(is)
	var names []string
	for proxy, secret := range after {
		if had, both := before[proxy]; both && (had == "") != (secret == "") {
			side := "before"
			if secret == "" {
				side = "after"
			}
			names = append(names, fmt.Sprintf("CorporateProxy %s: what Secret %s has %s the change is not known, so it cannot be said what becomes of its list and URLs.", proxy, cmp.Or(secret, had), side))
		}
	}
	slices.Sort(names)
	return names
}

// unknownInOne names the CorporateProxies whose Secret with the list is not known in a state that has them.
func unknownInOne(states ...*objects) (was, is map[string]bool) {
	var each [2]map[string]bool
	all := map[string]bool{}
	has := [2]map[string]bool{{}, {}}
	for i, o := range states {
		each[i] = map[string]bool{}
		for _, p := range o.parts {
			for k := range p.settings.proxies {
				proxy := &p.settings.proxies[k]
				has[i][proxy.Name] = proxy.Spec.Source.ValuesRef != nil
				if proxy.Spec.Source.ValuesRef == nil {
					continue
				}
				if data, err := p.settings.valuesOf(proxy); data == nil && err == nil {
					each[i][proxy.Name], all[proxy.Name] = true, true
				}
			}
		}
	}
	for i := range each {
		for name := range all {
			each[i][name] = has[i][name]
		}
	}
	return each[0], each[1]
}

// unreadOf names what is compared by its name alone.
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

// wave is the first that selects a cluster; empty: none does.
func (c *chosen) wave(cluster map[string]string) string {
	name, _ := c.waves.WaveOf(cluster)
	return name
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

// notes say what is not known.
func (s settings) notes(unknown map[string]bool) []string {
	var all []string
	for _, proxy := range s.proxies {
		if unknown[proxy.Name] {
			all = append(all, fmt.Sprintf("CorporateProxy %s: the list and the URLs in Secret %s are not known here, so only what stands in the objects is compared.",
				proxy.Name, proxy.Spec.Source.ValuesRef.Name))
		}
	}
	slices.Sort(all)
	return all
}

func isProblem(err error, into **resolve.Problem) bool { return errors.As(err, into) }

// asProblem keeps a problem, and returns every other error.
func asProblem(err error, into **resolve.Problem) error {
	if isProblem(err, into) {
		return nil
	}
	return err
}
