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

// near has the objects of a namespace that its pods depend on.
type near struct {
	objects  tunnel.Objects
	policies []tunnel.Policy
}

// policy is a NetworkPolicy among the documents.
type policy struct {
	namespace string
	read      func() (tunnel.Policy, error) // decodes it once
}

func policiesOf(documents []document.Document) []policy {
	var all []policy
	for _, d := range documents {
		if !d.Is("NetworkPolicy", "networking.k8s.io/v1") {
			continue
		}
		all = append(all, policy{d.Object.GetNamespace(), sync.OnceValues(func() (tunnel.Policy, error) {
			read, err := tunnel.Read[tunnel.Policy](d.Object.Object)
			if err != nil {
				err = fmt.Errorf("%s: %w", d.Name(), err)
			}
			return read, err
		})})
	}
	return all
}

// beside returns the objects beside the pods of a namespace. They are collected once per namespace: files may have
// thousands of objects, and of namespaces with pods.
func (e *Examination) beside(namespace string) (near, error) {
	if e.near == nil {
		e.named, e.policies, e.near = document.NamedOf(e.documents), policiesOf(e.documents), map[string]near{}
	}
	if known, ok := e.near[namespace]; ok {
		return known, nil
	}
	var found near
	var err error
	if found.objects, err = e.objects(namespace); err != nil {
		return near{}, err
	}
	for _, p := range e.policies {
		if p.namespace != namespace && p.namespace != "" && namespace != "" {
			continue // one without any goes with all: it is applied with -n
		}
		read, err := p.read()
		if err != nil {
			return near{}, err
		}
		found.policies = append(found.policies, read)
	}
	e.near[namespace] = found
	return found, nil
}

func (e *Examination) objects(namespace string) (tunnel.Objects, error) {
	objects := tunnel.Objects{Secrets: map[string]map[string]string{}, ConfigMaps: map[string]map[string]string{}}
	refs := slices.SortedFunc(maps.Keys(e.named), func(a, b inputs.Reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for _, ref := range refs {
		data, alike, err := e.named.Beside(ref, namespace)
		switch {
		case err != nil:
			return tunnel.Objects{}, err
		case !alike:
			e.Note(fmt.Sprintf("%s is given more than once (%s), and not looked at: give pods their namespace, and the object once", ref, e.named.Namespaces(ref)))
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
		if _, ok := objects.Secrets[render.PodSecretName]; ok {
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
