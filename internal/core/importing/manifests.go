package importing

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

const certificateKey = "ca.crt"

// Manifest is an object as a file has it: without a status, and without empty fields.
type Manifest struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata          `json:"metadata"`
	Spec            any               `json:"spec,omitempty"`
	StringData      map[string]string `json:"stringData,omitempty"`
	Data            map[string]string `json:"data,omitempty"`
}

// Metadata has the fields of an object's metadata that are written into a file.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// Manifests returns the objects: of the CorporateProxy of this name, the operator's namespace has a Secret if a URL has user
// information, and a ConfigMap for certificates.
func (i Import) Manifests(name, namespace string) []Manifest {
	spec := map[string]any{}
	var all []Manifest
	if i.HTTP.HasCredentials() || i.HTTPS.HasCredentials() {
		secret := manifest(corev1.SchemeGroupVersion.String(), "Secret", namespace, name+"-proxy")
		secret.StringData = render.SourceData(i.HTTP.URL, i.HTTPS.URL)
		all = append(all, secret)
		spec["source"] = v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: secret.Metadata.Name}}
	} else {
		spec["source"] = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: i.HTTP.String(), HTTPS: i.HTTPS.String()}}
	}
	switch {
	case len(i.CA.PEM) > 0:
		configMap := manifest(corev1.SchemeGroupVersion.String(), "ConfigMap", namespace, name+"-proxy-ca")
		configMap.Data = map[string]string{certificateKey: string(i.CA.PEM)}
		all = append(all, configMap)
		spec["trustedCARef"] = v1alpha1.CertificateReference{Kind: "ConfigMap", Name: configMap.Metadata.Name, Key: certificateKey}
	case i.CA.Name != "":
		spec["trustedCARef"] = v1alpha1.CertificateReference{Kind: "ConfigMap", Name: i.CA.Name, Key: i.CA.Key}
	}
	if len(i.NoProxy) > 0 {
		spec["noProxy"] = entriesOf(i.NoProxy)
	}
	proxy := manifest(v1alpha1.GroupVersion.String(), "CorporateProxy", "", name)
	proxy.Spec = spec
	all = append(all, proxy)
	for _, own := range i.Own {
		override := manifest(v1alpha1.GroupVersion.String(), "ProxyOverride", own.Namespace, own.Name)
		override.Spec = map[string]any{"noProxy": entriesOf(own.NoProxy)}
		all = append(all, override)
	}
	return all
}

func manifest(version, kind, namespace, name string) Manifest {
	return Manifest{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}, Metadata: Metadata{name, namespace}}
}

func entriesOf(kept []Kept) []v1alpha1.NoProxyEntry {
	all := make([]v1alpha1.NoProxyEntry, len(kept))
	for i, k := range kept {
		all[i] = v1alpha1.NoProxyEntry{Value: k.Entry.String(), Reason: reason(k.Place)}
	}
	return all
}

// reason says where an entry is from, as long as the API allows.
func reason(at Place) string {
	const longest = 1024
	text := "from " + at.String()
	if len(text) > longest {
		text = "from …" + text[len(text)-longest+len("from …"):]
	}
	return strings.ToValidUTF8(text, "")
}

// Readable are manifests for whoever resolves them without the ConfigMaps that are elsewhere: what clients decide does not
// depend on certificates.
func Readable(all []Manifest) []Manifest {
	var readable []Manifest
	for _, m := range all {
		if spec, ok := m.Spec.(map[string]any); ok {
			spec = maps.Clone(spec)
			delete(spec, "trustedCARef")
			m.Spec = spec
		}
		readable = append(readable, m)
	}
	return readable
}
