package bundle

import (
	"encoding/base64"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/yaml"
)

const key = "objects.yaml"

// carrier is a ConfigMap or Secret that Cluster API applies the content of.
type carrier struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Type              string            `json:"type,omitempty"`
	Data              map[string]string `json:"data"`
}

func (o Options) metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "fairlead"}}
}

func (o Options) set(name, strategy string, of []carrier) addonsv1.ClusterResourceSet {
	set := addonsv1.ClusterResourceSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"},
		ObjectMeta: o.metadata(name), Spec: addonsv1.ClusterResourceSetSpec{ClusterSelector: o.Selector, Strategy: strategy},
	}
	for _, c := range of {
		set.Spec.Resources = append(set.Spec.Resources, addonsv1.ResourceRef{Kind: c.Kind, Name: c.Name})
	}
	return set
}

// carriers are as few as can be, in the order of the objects. The first has no number: mostly, it is the only one.
func (o Options) carriers(kind, name string, objects []unstructured.Unstructured) ([]carrier, error) {
	var texts []string
	for _, object := range objects {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title(object), err)
		}
		text := "---\n" + string(content)
		switch last := len(texts) - 1; {
		case len(text) > Largest:
			return nil, fmt.Errorf("%s: it has %d bytes, and a %s carries %d", title(object), len(text), kind, Largest)
		case last >= 0 && len(texts[last])+len(text) <= Largest:
			texts[last] += text
		default:
			texts = append(texts, text)
		}
	}
	all := make([]carrier, len(texts))
	for i, text := range texts {
		c := carrier{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: o.metadata(name)}
		if i > 0 {
			c.Name = fmt.Sprintf("%s-%d", name, i+1)
		}
		if kind == "Secret" {
			c.Type = string(addonsv1.ClusterResourceSetSecretType)
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		c.Data = map[string]string{key: text}
		all[i] = c
	}
	return all, nil
}
