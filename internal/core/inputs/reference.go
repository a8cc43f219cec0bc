package inputs

import (
	"errors"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// The kinds of object that a CorporateProxy may name.
const (
	KindConfigMap = "ConfigMap"
	KindSecret    = "Secret"
)

// Reference names an object of the operator's namespace.
type Reference struct{ Kind, Name string }

// String returns what messages call it.
func (r Reference) String() string { return r.Kind + " " + r.Name }

// DataGetter returns the data of an object of the operator's namespace, or nil
// if there is none of that kind and name.
type DataGetter func(Reference) (map[string][]byte, error)

// ErrNotGiven is the error of a DataGetter that knows files alone, and no cluster.
var ErrNotGiven = errors.New("not in the files")

// NamedObject is an object that a CorporateProxy reads, with its role there.
type NamedObject struct {
	Role      string            // source, next or trustedCA
	Reference                   // the object
	Keys      map[string]string // the keys that are read, and what each is called in that role
}

// Named lists the objects that a CorporateProxy reads.
func Named(proxy *v1alpha1.CorporateProxy) []NamedObject {
	var all []NamedObject
	// Where there is a successor, the keys of previous credentials are not read: the Secret before it has them.
	add := func(ref *v1alpha1.SecretReference, previous []string, keys ...string) {
		switch {
		case ref == nil:
		case ref.Next == nil:
			all = append(all, NamedObject{"source", Reference{KindSecret, ref.Name}, sameNames(append(keys, previous...))})
		default:
			all = append(all, NamedObject{"source", Reference{KindSecret, ref.Name}, sameNames(keys)},
				NamedObject{"next", Reference{KindSecret, ref.Next.Name}, sameNames(keys)})
		}
	}
	add(proxy.Spec.Source.ValuesRef, []string{keyHTTP + previousSuffix, keyHTTPS + previousSuffix}, keyHTTP, keyHTTPS, keyNoProxy)
	if url := proxy.Spec.Source.URL; url != nil {
		add(url.CredentialsRef, []string{keyPreviousUsername, keyPreviousPassword}, keyUsername, keyPassword)
	}
	if ref := proxy.Spec.TrustedCARef; ref != nil {
		all = append(all, NamedObject{"trustedCA", certificateReference(*ref), map[string]string{certificateKey(*ref): "bundle"}})
	}
	return all
}

func sameNames(keys []string) map[string]string {
	names := map[string]string{}
	for _, key := range keys {
		names[key] = key
	}
	return names
}

// References lists the objects that a CorporateProxy reads.
func References(proxy *v1alpha1.CorporateProxy) []Reference {
	var all []Reference
	for _, named := range Named(proxy) {
		all = append(all, named.Reference)
	}
	return all
}

// PlainValues returns the data of a Secret for valuesRef without credentials.
func PlainValues(http, https string, entries []string) map[string][]byte {
	return map[string][]byte{keyHTTP: []byte(http), keyHTTPS: []byte(https), keyNoProxy: []byte(strings.Join(entries, ","))}
}

// SecretData returns the data of a Secret; nil for nil, and only then.
func SecretData(secret *corev1.Secret) map[string][]byte {
	switch {
	case secret == nil:
		return nil
	case secret.Data == nil:
		return map[string][]byte{}
	}
	return secret.Data
}

// ConfigMapData returns data and binaryData, between which the API server lets
// no key stand twice; nil for nil, and only then.
func ConfigMapData(configMap *corev1.ConfigMap) map[string][]byte {
	if configMap == nil {
		return nil
	}
	data := map[string][]byte{}
	for key, text := range configMap.Data {
		data[key] = []byte(text)
	}
	maps.Copy(data, configMap.BinaryData)
	return data
}
