package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// neighbours is what stands beside pods. Each document is decoded once, and each namespace put together once: files may
// have hundreds of each, and of pods.
type neighbours struct {
	named       namedObjects
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

func newNeighbours(documents []document) *neighbours {
	n := &neighbours{named: readNamed(documents), byNamespace: map[string]near{}}
	for _, d := range documents {
		if d.is("NetworkPolicy", "networking.k8s.io/v1") {
			n.policies = append(n.policies, neighbourPolicy{d.object.GetNamespace(), sync.OnceValues(func() (tunnel.Policy, error) {
				policy, err := tunnel.ReadPolicy(d.object.Object)
				if err != nil {
					return policy, fmt.Errorf("%s: %w", d.name(), err)
				}
				return policy, nil
			})})
		}
	}
	return n
}

// beside returns what is beside the pods of a namespace.
func (in *doctorInput) beside(namespace string) (near, error) {
	if in.neighbours == nil {
		in.neighbours = newNeighbours(in.documents)
	}
	if known, is := in.neighbours.byNamespace[namespace]; is {
		return known, nil
	}
	var found near
	var err error
	if found.objects, err = in.objects(namespace); err != nil {
		return near{}, err
	}
	for _, p := range in.neighbours.policies {
		if p.namespace != namespace && p.namespace != "" && namespace != "" {
			continue // one without any goes with all: it is applied with -n
		}
		policy, err := p.read()
		if err != nil {
			return near{}, err
		}
		found.policies = append(found.policies, policy)
	}
	in.neighbours.byNamespace[namespace] = found
	return found, nil
}

func (in *doctorInput) objects(namespace string) (tunnel.Objects, error) {
	objects := tunnel.Objects{Secrets: map[string]map[string]string{}, ConfigMaps: map[string]map[string]string{}}
	refs := slices.SortedFunc(maps.Keys(in.neighbours.named), func(a, b inputs.Reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for _, ref := range refs {
		data, alike, err := in.neighbours.named.beside(ref, namespace)
		switch {
		case err != nil:
			return tunnel.Objects{}, err
		case !alike:
			in.note(fmt.Sprintf("%s is given more than once (%s), and not looked at: give pods their namespace, and the object once", ref, namespaces(in.neighbours.named[ref])))
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
	if in.settings != nil {
		if _, given := objects.Secrets[render.PodSecretName]; given {
			return tunnel.Objects{}, errors.New("the Secret " + render.PodSecretName + " is given twice: in a file, and by --values or --proxy")
		}
		objects.Secrets[render.PodSecretName] = in.settings
	}
	return objects, nil
}

// note is said once.
func (in *doctorInput) note(text string) {
	if !slices.Contains(in.notes, text) {
		in.notes = append(in.notes, text)
	}
}
