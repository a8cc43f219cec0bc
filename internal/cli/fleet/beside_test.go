package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli/fleet"
)

// What is beside the Clusters, or beside the CorporateProxies, says the same as in the management cluster.
const beside = `
apiVersion: v1
kind: ConfigMap
metadata: {name: acme, namespace: fairlead-system, labels: {fairlead.io/provider-facts: "true"}}
data:
  acme.yaml: |
    rows: [{group: acme.example, kind: AcmeCluster, facts: [{name: networks, paths: ["spec.networks[]"]}]}]
---
apiVersion: v1
kind: Namespace
metadata: {name: org, labels: {site: north}}
`

const acmeCluster = `
apiVersion: acme.example/v1
kind: AcmeCluster
metadata: {name: c1, namespace: org}
spec: {networks: [10.9.0.0/16]}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c1, namespace: org}
spec:
  controlPlaneEndpoint: {host: 10.0.0.5, port: 6443}
  infrastructureRef: {apiGroup: acme.example, kind: AcmeCluster, name: c1}
`

func TestAFleetInFilesHasUsersRowsAndLabelsOfNamespaces(t *testing.T) {
	proxy := manifests{"proxy": proxyText("default", source+`, "allowedNamespaces": {"matchLabels": {"site": "north"}}`)}
	clusters := manifests{"cluster": acmeCluster}
	for name, given := range map[string]struct{ proxies, clusters manifests }{
		"beside the Cluster":        {proxy, clusters.with("beside", beside)},
		"beside the CorporateProxy": {proxy.with("beside", beside), clusters},
		"beside both":               {proxy.with("beside", beside), clusters.with("beside", beside)},
	} {
		choice, err := fleet.Proxies("proxies", given.proxies.documents(t), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		documents := given.clusters.documents(t)
		f, err := fleet.New(choice, "clusters", documents, documents, "", t.Output())
		if err != nil {
			t.Fatal(err)
		}
		effective, err := f.Resolve(f.Clusters[0], t.Output())
		if err != nil || !strings.Contains(effective.NoProxy.Go.String(), "10.9.0.0/16") {
			t.Errorf("%s: %s (%v)", name, effective.NoProxy.Go, err)
		}
	}
	all := proxy.with("beside", beside).with("cluster", acmeCluster)
	if p := compared(t, all, all.with("proxy", proxyText("default", source+`, "allowedNamespaces": {"matchLabels": {"site": "south"}}`)), false); !p.Changed {
		t.Error("a plan knows no label of the namespace")
	}
	if change := onlyChange(t, compared(t, all, all.with("beside", strings.Replace(beside, "networks[]", "none[]", 1)), false)); texts(change.Goes) != "10.9.0.0/16" {
		t.Errorf("a plan knows no row of users: %+v", change)
	}
}
