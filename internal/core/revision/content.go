// Package revision is what a CorporateProxy and the objects that it names meant at one time: how it is kept, in a Secret
// and a ConfigMap of the operator's namespace, and what a cluster's ProxyReport records of it.
//
// The package has no client, key or clock: whoever writes a revision numbers it, and makes its keyed digest of [Content.Text].
package revision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Content is the meaning of a revision: enough to resolve a cluster as at that time. It holds the password.
type Content struct {
	spec    v1alpha1.CorporateProxySpec
	data    map[string][]byte         // by role and key of the objects that spec names
	missing map[inputs.Reference]bool // objects that did not exist; none of a content that was kept
}

// String shows no data.
func (c Content) String() string { return fmt.Sprintf("content with %d values (hidden)", len(c.data)) }

// Format writes String for every verb, so that %+v cannot show the data.
func (c Content) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte(c.String())) }

// MarshalText returns String, so that a log in JSON cannot show the data.
func (c Content) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// specKey is the key of the spec among data; no object has that role.
const specKey = "spec"

// Of returns the content of a CorporateProxy, as it is in effect. An error comes from get.
func Of(proxy *v1alpha1.CorporateProxy, get inputs.DataGetter) (Content, error) {
	c := Content{spec: meant(proxy.Spec), data: map[string][]byte{}, missing: map[inputs.Reference]bool{}}
	for _, named := range inputs.Named(proxy) {
		data, err := get(named.Reference)
		if err != nil {
			return Content{}, err
		}
		if data == nil {
			c.missing[named.Reference] = true
		}
		for key, stored := range named.Keys {
			if value, ok := data[key]; ok {
				c.data[named.Role+"."+stored] = value
			}
		}
	}
	return c, nil
}

// meant leaves out what says which clusters get the content, and how; notes for people; and what has ended. When something
// will end is left out, too: nothing changes before it does.
func meant(spec v1alpha1.CorporateProxySpec) v1alpha1.CorporateProxySpec {
	spec = *spec.DeepCopy()
	spec.Priority, spec.ClusterSelector, spec.AllowedNamespaces, spec.Rollout = 0, nil, nil, nil
	spec.Node.Rollout = ""
	if spec.Probes != nil { // its selectors stay: they say what clusters are told
		spec.Probes.BeforeChange = ""
	}
	spec.NoProxy = inputs.Lasting(spec.NoProxy)
	for i := range spec.NoProxy {
		spec.NoProxy[i].Reason, spec.NoProxy[i].Owner = "", ""
	}
	return spec
}

// Data returns the data of the Secret that keeps the content.
func (c Content) Data() map[string][]byte {
	text, _ := json.Marshal(c.spec) // strings, numbers and selectors
	data := map[string][]byte{specKey: text}
	maps.Copy(data, c.data)
	return data
}

// Text returns a canonical text of the content, of which a digest can be made.
func (c Content) Text() []byte {
	text, _ := json.Marshal(c.Data()) // sorted by key
	return text
}

// Parse reads the data of the Secret of a revision.
func Parse(data map[string][]byte) (Content, error) {
	c := Content{data: maps.Clone(data)}
	if err := json.Unmarshal(data[specKey], &c.spec); err != nil {
		return Content{}, fmt.Errorf("the key %s is not the spec of a CorporateProxy", specKey) // the parser's words may quote it
	}
	delete(c.data, specKey)
	return c, nil
}

// Installation returns what the content means. The error is a *resolve.Problem.
func (c Content) Installation(proxy string) (resolve.Installation, error) {
	was := &v1alpha1.CorporateProxy{Spec: c.spec}
	was.Name = proxy
	named := inputs.Named(was)
	return inputs.Installation(was, func(ref inputs.Reference) (map[string][]byte, error) {
		if c.missing[ref] {
			return nil, nil
		}
		data := map[string][]byte{}
		for _, n := range named {
			if n.Reference != ref {
				continue
			}
			for key, stored := range n.Keys {
				if value, ok := c.data[n.Role+"."+stored]; ok {
					data[key] = value
				}
			}
		}
		return data, nil
	})
}

// Same reports whether two contents are the same.
func (c Content) Same(other Content) bool { return slices.Equal(c.Text(), other.Text()) }
