package lifecycle_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// fleet are clusters of two teams, by namespace; each has a machine.
var fleet = map[string][]string{"org-acme": {"one", "two"}, "org-globex": {"three"}}

const clusterAndMachine = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  clusterNetwork:
    services: {cidrBlocks: [100.64.0.0/13]}
    pods: {cidrBlocks: [100.96.0.0/11]}
  controlPlaneEndpoint: {host: 178.170.32.59, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: %[2]s}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {namespace: %[1]s, name: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[2]s}}
spec:
  clusterName: %[2]s
  bootstrap: {dataSecretName: %[2]s-bootstrap}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachine, name: %[2]s}
`

func (r *release) makeFleet() {
	r.Helper()
	controlplanetest.Require(r, r.cp.Install(r.Context(), controlplane.ClusterAPI))
	controlplanetest.Require(r, r.cp.StartControllerManager(r.Context(), controlplane.GarbageCollector, controlplane.ClusterRoleAggregation))
	for team, clusters := range fleet {
		controlplanetest.Require(r, r.cp.Apply(r.Context(), fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", team)))
		for _, name := range clusters {
			controlplanetest.Require(r, r.cp.Apply(r.Context(), fmt.Appendf(nil, clusterAndMachine, team, name)))
		}
	}
}

// ofFleet chooses the Secrets that Fairlead writes for clusters.
func ofFleet(secret *corev1.Secret) bool { return fleet[secret.Namespace] != nil }

// lacking says what a version of one of them lacks, if anything.
func lacking(secret *corev1.Secret) string {
	keys := []string{render.ContainerdKey, render.KubeletKey}
	if strings.HasSuffix(secret.Name, render.ValuesSuffix) {
		keys = []string{render.ValuesKey}
	}
	for _, key := range keys {
		for _, needed := range []string{"http://myProxyUser:", "@192.168.52.220:3128", "example.com", "178.170.32.59"} {
			if !bytes.Contains(secret.Data[key], []byte(needed)) {
				return key + " lacks " + needed
			}
		}
	}
	return ""
}

// awaitFleet awaits that both Secrets of every cluster have this password and this entry.
func (r *release) awaitFleet(password, entry string) {
	r.Helper()
	for team, clusters := range fleet {
		for _, cluster := range clusters {
			for _, suffix := range []string{render.ValuesSuffix, render.SystemdSuffix} {
				controlplanetest.Await(r, team+"/"+cluster+suffix, func(ctx context.Context) (bool, error) {
					secret := &corev1.Secret{}
					if err := r.client.Get(ctx, client.ObjectKey{Namespace: team, Name: cluster + suffix}, secret); err != nil {
						return false, err
					}
					for key, content := range secret.Data {
						if !strings.Contains(string(content), ":"+password+"@") || !strings.Contains(string(content), entry) {
							return false, fmt.Errorf("key %s has not the password or entry %s", key, entry)
						}
					}
					return controlplanetest.Holds(len(secret.Data) > 0, "it is empty")
				})
			}
		}
	}
}

// awaitEndOfChange awaits that the CorporateProxy says no longer that a change of it is under way.
func (r *release) awaitEndOfChange() {
	r.Helper()
	controlplanetest.Await(r, "the end of the change", func(ctx context.Context) (bool, error) {
		proxy := &unstructured.Unstructured{}
		proxy.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("CorporateProxy"))
		if err := r.client.Get(ctx, client.ObjectKey{Name: "default"}, proxy); err != nil {
			return false, err
		}
		_, applying, err := unstructured.NestedMap(proxy.Object, "status", "applying")
		return !applying, err
	})
}

// noWrites holds that nobody changed anything in the namespaces of clusters.
func (r *release) noWrites(since controlplane.AuditMark) {
	r.Helper()
	for team := range fleet {
		events, err := r.cp.AuditEvents(since, controlplane.Writes, controlplane.InNamespace(team), func(event auditv1.Event) bool {
			return event.ResponseStatus != nil && event.ResponseStatus.Code < 300
		})
		controlplanetest.Require(r, err)
		for _, event := range events {
			r.Errorf("%s has done: %s %s", event.User.Username, event.Verb, event.RequestURI)
		}
	}
}
