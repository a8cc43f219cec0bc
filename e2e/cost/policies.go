package main

import (
	"bytes"
	"context"
	_ "embed"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/policies"
)

//go:embed field.yaml
var field []byte

// policy is one way to give pods the variables.
type policy struct {
	name     string
	manifest []byte
}

// baseline is the name of no policy at all, and theField of the one that ours are compared with.
const (
	baseline = "none"
	theField = "ClusterPolicy, strategic merge"
)

// all are the policies to compare. Ours are those of the chart.
func all(ctx context.Context) ([]policy, error) {
	found := []policy{{name: baseline}}
	for _, ours := range []struct{ name, engine, carry string }{
		{"native, SecretRef", "Native", "SecretRef"},
		{"native, Literal", "Native", "Literal"},
		{"Kyverno, SecretRef", "Kyverno", "SecretRef"},
		{"Kyverno, Literal", "Kyverno", "Literal"},
	} {
		manifest, err := policies.Render(ctx, policies.Values(), map[string]any{"engine": ours.engine, "carry": ours.carry})
		if err != nil {
			return nil, err
		}
		found = append(found, policy{ours.name, manifest})
	}
	return append(found, policy{theField, field}), nil
}

// objects are those of the policy that admission reads.
func (p policy) objects() ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for document := range bytes.SplitSeq(p.manifest, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if object.GetName() == policies.InjectProxyEnv && strings.Contains(object.GetKind(), "Policy") || object.GetName() == "kubeadm-config" {
			found = append(found, object)
		}
	}
	return found, nil
}
