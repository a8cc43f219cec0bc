package cli

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

// namedObjects are the Secrets and ConfigMaps among documents. One name may stand in several namespaces.
type namedObjects map[inputs.Reference][]namedObject

// namedObject is decoded when it is first asked for, and once: there may be many, and many who ask.
type namedObject struct {
	namespace string // as it is written
	data      func() (map[string][]byte, error)
}

func readNamed(documents []document) namedObjects {
	all := namedObjects{}
	for _, d := range documents {
		for kind, decode := range map[string]func() (map[string][]byte, error){
			inputs.KindSecret: d.secretData, inputs.KindConfigMap: d.configMapData,
		} {
			if d.is(kind, "v1") {
				ref := inputs.Reference{Kind: kind, Name: d.object.GetName()}
				all[ref] = append(all[ref], namedObject{d.object.GetNamespace(), sync.OnceValues(decode)})
			}
		}
	}
	return all
}

// secretData merges stringData into data as the API server does.
func (d document) secretData() (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := d.decode(secret); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	for key, value := range secret.StringData {
		data[key] = []byte(value)
	}
	return data, nil
}

func (d document) configMapData() (map[string][]byte, error) {
	configMap := &corev1.ConfigMap{}
	if err := d.decode(configMap); err != nil {
		return nil, err
	}
	return inputs.ConfigMapData(configMap), nil
}

// operators returns the data of an object of the operator's namespace, nil if there is none. No file says which
// namespace that is, so that objects of one name in several are refused, unless they say the same.
func (n namedObjects) operators(ref inputs.Reference) (map[string][]byte, error) {
	data, alike, err := only(n[ref])
	if err == nil && !alike {
		err = fmt.Errorf("%s is given more than once (%s): leave the one of the operator's namespace alone in the files", ref, namespaces(n[ref]))
	}
	return data, err
}

// beside returns the data of an object of a namespace; false if several of them differ. An object without a namespace
// goes with all, as it is applied with -n, and so does every object where the namespace is not known; one that has the
// namespace goes first.
func (n namedObjects) beside(ref inputs.Reference, namespace string) (data map[string][]byte, alike bool, err error) {
	of := func(namespace string) []namedObject {
		return slices.DeleteFunc(slices.Clone(n[ref]), func(o namedObject) bool { return o.namespace != namespace })
	}
	if objects := of(namespace); len(objects) > 0 {
		return only(objects)
	}
	if namespace == "" {
		return only(n[ref])
	}
	return only(of(""))
}

// only returns what all of the objects say; false if they differ.
func only(objects []namedObject) (data map[string][]byte, alike bool, err error) {
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

// namespaces names where objects are, for people.
func namespaces(objects []namedObject) string {
	var names []string
	for _, object := range objects {
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
