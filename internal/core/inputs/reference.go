package inputs

import (
	"maps"

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

// String is what messages call it.
func (r Reference) String() string { return r.Kind + " " + r.Name }

// DataGetter returns the data of an object of the operator's namespace, or nil
// if there is none of that kind and name.
type DataGetter func(Reference) (map[string][]byte, error)

// References lists the objects that a CorporateProxy reads.
func References(proxy *v1alpha1.CorporateProxy) []Reference {
	var all []Reference
	if ref := proxy.Spec.Source.ValuesRef; ref != nil {
		all = append(all, Reference{KindSecret, ref.Name})
	}
	if url := proxy.Spec.Source.URL; url != nil && url.CredentialsRef != nil {
		all = append(all, Reference{KindSecret, url.CredentialsRef.Name})
	}
	if ref := proxy.Spec.TrustedCARef; ref != nil {
		all = append(all, certificateReference(*ref))
	}
	return all
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
