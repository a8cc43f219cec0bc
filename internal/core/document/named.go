package document

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/core/inputs"
)

// Named are the Secrets and ConfigMaps among documents. One name may stand in several namespaces.
type Named map[inputs.Reference][]named

// named is decoded when it is first asked for, and once: there may be many, and many who ask.
type named struct {
	namespace string // as it is written
	data      func() (map[string][]byte, error)
}

// NamedOf finds them.
func NamedOf(documents []Document) Named {
	all := Named{}
	for _, d := range documents {
		for kind, decode := range map[string]func() (map[string][]byte, error){
			inputs.KindSecret: d.secretData, inputs.KindConfigMap: d.configMapData,
		} {
			if d.Is(kind, "v1") {
				ref := inputs.Reference{Kind: kind, Name: d.Object.GetName()}
				all[ref] = append(all[ref], named{d.Object.GetNamespace(), sync.OnceValues(decode)})
			}
		}
	}
	return all
}

// secretData merges stringData into data as the API server does.
func (d Document) secretData() (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := d.Decode(secret); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	for key, value := range secret.StringData {
		data[key] = []byte(value)
	}
	return data, nil
}

func (d Document) configMapData() (map[string][]byte, error) {
	configMap := &corev1.ConfigMap{}
	if err := d.Decode(configMap); err != nil {
		return nil, err
	}
	return inputs.ConfigMapData(configMap), nil
}

// Operators returns the data of an object of the operator's namespace, nil if there is none. No file says which
// namespace that is, so that objects of one name in several are refused, unless they say the same.
func (n Named) Operators(ref inputs.Reference) (map[string][]byte, error) {
	data, alike, err := commonData(n[ref])
	if err == nil && !alike {
		err = fmt.Errorf("%s is given more than once (%s): leave the one of the operator's namespace alone in the files", ref, n.Namespaces(ref))
	}
	return data, err
}

// Beside returns the data of an object of a namespace; false if several of them differ. An object without a namespace
// goes with all, as it is applied with -n, and so does every object where the namespace is not known; one that has the
// namespace goes first.
func (n Named) Beside(ref inputs.Reference, namespace string) (data map[string][]byte, alike bool, err error) {
	of := func(namespace string) []named {
		return slices.DeleteFunc(slices.Clone(n[ref]), func(o named) bool { return o.namespace != namespace })
	}
	if objects := of(namespace); len(objects) > 0 {
		return commonData(objects)
	}
	if namespace == "" {
		return commonData(n[ref])
	}
	return commonData(of(""))
}

// commonData returns the data that all objects have, or false if they differ.
func commonData(objects []named) (data map[string][]byte, alike bool, err error) {
	for i, object := range objects {
		other, err := object.data()
		if err != nil {
			return nil, false, err
		}
		if i > 0 && !reflect.DeepEqual(data, other) {
			return nil, false, nil
		}
		data = other
	}
	return data, true, nil
}

// Namespaces names where the objects of a reference are, for people.
func (n Named) Namespaces(ref inputs.Reference) string {
	var names []string
	for _, object := range n[ref] {
		name := "namespace " + object.namespace
		if object.namespace == "" {
			name = "without a namespace"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
