package bundle

import (
	"encoding/base64"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	addons = "addons.cluster.x-k8s.io"
	key    = "objects.yaml"
)

type metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels"`
}

// carrier is a ConfigMap or Secret that Cluster API applies the content of.
type carrier struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string]string `json:"data"`
}

type set struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type spec struct {
	ClusterSelector metav1.LabelSelector `json:"clusterSelector"`
	Resources       []resource           `json:"resources"`
	Strategy        string               `json:"strategy"`
}

type resource struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (o Options) metadata(name string) metadata {
	return metadata{Name: name, Namespace: o.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "fairlead"}}
}

func (o Options) set(name, strategy string, of []carrier) set {
	s := set{APIVersion: addons + "/v1beta2", Kind: "ClusterResourceSet", Metadata: o.metadata(name), Spec: spec{ClusterSelector: o.Selector, Strategy: strategy}}
	for _, c := range of {
		s.Spec.Resources = append(s.Spec.Resources, resource{c.Kind, c.Metadata.Name})
	}
	return s
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
		c := carrier{APIVersion: "v1", Kind: kind, Metadata: o.metadata(name)}
		if i > 0 {
			c.Metadata.Name = fmt.Sprintf("%s-%d", name, i+1)
		}
		if kind == "Secret" {
			c.Type = addons + "/resource-set"
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		c.Data = map[string]string{key: text}
		all[i] = c
	}
	return all, nil
}
