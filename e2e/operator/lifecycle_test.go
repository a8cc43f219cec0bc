package operator_test

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestACreatedClusterGetsBothSecretsFromThePublishedExample(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.report("c1", "Applied")
	f.awaitNoProxy("c1", exampleMerged)
}

func TestAClusterWithoutEndpointWaitsAndIsWrittenWhenItIsKnown(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{} })
	f.report("c1", "EndpointUnknown")
	if values, systemd := f.secrets("c1"); values != nil || systemd != nil {
		t.Fatal("a Secret was written before the endpoint was known")
	}
	modify(f, cluster, func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: exampleEndpoint, Port: 6443}
	})
	f.awaitNoProxy("c1", exampleMerged)
}
