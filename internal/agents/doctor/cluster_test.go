package doctor_test

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

type objects []document.Document

func (all objects) Objects(_ context.Context, resource schema.GroupVersionResource, _ string) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	for _, d := range all {
		if d.Is("Pod", "v1") && resource.Resource == "pods" || d.Is("Service", "v1") && resource.Resource == "services" {
			found = append(found, d.Object)
		}
	}
	return found, nil
}

func TestServicesOfTheClusterAreKnownByTheirShortName(t *testing.T) {
	all, err := document.Parse("f.yaml", []byte(`apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: shop}
spec: {containers: [{name: c, args: ["redis:6379"]}]}
---
apiVersion: v1
kind: Service
metadata: {name: redis, namespace: shop}
`))
	if err != nil {
		t.Fatal(err)
	}
	examination, err := doctor.Cluster(t.Context(), objects(all), "shop", "agent", doctor.Options{Settings: map[string]string{"NO_PROXY": ".svc"}, Lint: linted})
	if err != nil {
		t.Fatal(err)
	}
	report, err := examination.Judge(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Pods[0].Findings, func(f tunnel.Finding) bool { return f.Code == lint.ShortName }) {
		t.Errorf("%+v", report.Pods[0].Findings)
	}
}

func linted(in lint.Input) ([]lint.Result, error) {
	return []lint.Result{{Findings: lint.Run(in)}}, nil
}
