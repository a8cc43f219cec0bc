package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// neighbours is what stands beside pods. Each document is decoded once, and each namespace put together once: files may
// have hundreds of each, and of pods.
type neighbours struct {
	named       document.Named
	policies    []neighbourPolicy
	byNamespace map[string]near
}

type neighbourPolicy struct {
	namespace string
	read      func() (tunnel.Policy, error)
}

// near is what matters for the pods of a namespace.
type near struct {
	objects  tunnel.Objects
	policies []tunnel.Policy
}

func newNeighbours(documents []document.Document) *neighbours {
	n := &neighbours{named: document.NamedOf(documents), byNamespace: map[string]near{}}
	for _, d := range documents {
		if d.Is("NetworkPolicy", "networking.k8s.io/v1") {
			n.policies = append(n.policies, neighbourPolicy{d.Object.GetNamespace(), sync.OnceValues(func() (tunnel.Policy, error) {
				policy, err := tunnel.Read[tunnel.Policy](d.Object.Object)
				if err != nil {
					return policy, fmt.Errorf("%s: %w", d.Name(), err)
				}
				return policy, nil
			})})
		}
	}
	return n
}

// beside returns what is beside the pods of a namespace.
func (e *Examination) beside(namespace string) (near, error) {
	if e.neighbours == nil {
		e.neighbours = newNeighbours(e.documents)
	}
	if known, is := e.neighbours.byNamespace[namespace]; is {
		return known, nil
	}
	var found near
	var err error
	if found.objects, err = e.objects(namespace); err != nil {
		return near{}, err
	}
	for _, p := range e.neighbours.policies {
		if p.namespace != namespace && p.namespace != "" && namespace != "" {
			continue // one without any goes with all: it is applied with -n
		}
		policy, err := p.read()
		if err != nil {
			return near{}, err
		}
		found.policies = append(found.policies, policy)
	}
	e.neighbours.byNamespace[namespace] = found
	return found, nil
}

func (e *Examination) objects(namespace string) (tunnel.Objects, error) {
	objects := tunnel.Objects{Secrets: map[string]map[string]string{}, ConfigMaps: map[string]map[string]string{}}
	refs := slices.SortedFunc(maps.Keys(e.neighbours.named), func(a, b inputs.Reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for _, ref := range refs {
		data, alike, err := e.neighbours.named.Beside(ref, namespace)
		switch {
		case err != nil:
			return tunnel.Objects{}, err
		case !alike:
			e.Note(fmt.Sprintf("%s is given more than once (%s), and not looked at: give pods their namespace, and the object once", ref, e.neighbours.named.Namespaces(ref)))
			continue
		case data == nil:
			continue // of another namespace
		}
		into := objects.ConfigMaps
		if ref.Kind == inputs.KindSecret {
			into = objects.Secrets
		}
		into[ref.Name] = map[string]string{}
		for key, value := range data {
			into[ref.Name][key] = string(value)
		}
	}
	if e.opts.Settings != nil {
		if _, given := objects.Secrets[render.PodSecretName]; given {
			return tunnel.Objects{}, errors.New("the Secret " + render.PodSecretName + " is given twice: in a file, and by --values or --proxy")
		}
		objects.Secrets[render.PodSecretName] = e.opts.Settings
	}
	return objects, nil
}

// Note adds a note to the report, once.
func (e *Examination) Note(text string) {
	if !slices.Contains(e.notes, text) {
		e.notes = append(e.notes, text)
	}
}
