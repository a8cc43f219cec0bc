package provider_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

// What each row reads from the realistic object in testdata/objects, as "fact path entry".
var wantValues = map[string][]string{
	"AWSCluster.infrastructure.cluster.x-k8s.io": {
		"vpcCIDR spec.network.vpc.cidrBlock 10.20.0.0/16",
		"vpcSecondaryCIDRs spec.network.vpc.secondaryCidrBlocks[0].ipv4CidrBlock 100.64.0.0/16",
		"vpcIPv6CIDR spec.network.vpc.ipv6.cidrBlock 2001:db8:1234:5600::/56",
		"subnetCIDRs spec.network.subnets[0].cidrBlock 10.20.0.0/20",
		"subnetCIDRs spec.network.subnets[1].cidrBlock 10.21.16.0/20",
		"subnetIPv6CIDRs spec.network.subnets[0].ipv6CidrBlock 2001:db8:1234:5600::/64",
	},
	"AWSManagedCluster.infrastructure.cluster.x-k8s.io": nil,
	"AWSManagedControlPlane.controlplane.cluster.x-k8s.io": {
		"vpcCIDR spec.network.vpc.cidrBlock 10.0.0.0/16",
		"vpcSecondaryCIDRs spec.secondaryCidrBlock 100.64.0.0/16",
		"subnetCIDRs spec.network.subnets[0].cidrBlock 10.0.0.0/20",
		"subnetCIDRs spec.network.subnets[1].cidrBlock 10.0.64.0/18",
	},
	"AzureCluster.infrastructure.cluster.x-k8s.io": {
		"vnetCIDRs spec.networkSpec.vnet.cidrBlocks[0] 10.0.0.0/8",
		"vnetCIDRs spec.networkSpec.vnet.cidrBlocks[1] 2001:1234:5678:9a00::/56",
		"privateDNSZone spec.networkSpec.privateDNSZoneName azure.corp.example",
	},
	"AzureManagedCluster.infrastructure.cluster.x-k8s.io": nil,
	"AzureManagedControlPlane.infrastructure.cluster.x-k8s.io": {
		"vnetCIDR spec.virtualNetwork.cidrBlock 10.224.0.0/12",
		"subnetCIDR spec.virtualNetwork.subnet.cidrBlock 10.224.0.0/16",
	},
	"AzureASOManagedCluster.infrastructure.cluster.x-k8s.io": nil,
	"GCPCluster.infrastructure.cluster.x-k8s.io":             gcpNetwork,
	"GCPManagedCluster.infrastructure.cluster.x-k8s.io":      gcpNetwork,
	"GCPManagedControlPlane.infrastructure.cluster.x-k8s.io": {
		"podCIDR spec.clusterNetwork.pod.cidrBlock 10.41.0.0/16",
		"serviceCIDR spec.clusterNetwork.service.cidrBlock 10.42.0.0/20",
		"controlPlaneCIDR spec.clusterNetwork.privateCluster.controlPlaneCidrBlock 10.43.0.0/28",
		"internalDNS spec.project .c.acme-prod.internal",
	},
	"OpenStackCluster.infrastructure.cluster.x-k8s.io": {
		"subnetCIDRs status.network.subnets[0].cidr 10.6.0.0/24",
		"subnetCIDRs status.network.subnets[1].cidr fd12:3456:789a::/64",
	},
	"VSphereCluster.infrastructure.cluster.x-k8s.io":        nil,
	"VSphereCluster.vmware.infrastructure.cluster.x-k8s.io": nil,
	"VCDCluster.infrastructure.cluster.x-k8s.io":            nil,
	"ProxmoxCluster.infrastructure.cluster.x-k8s.io": {
		"machineNetworkIPv4 spec.ipv4Config 10.10.10.0/24",
		"machineNetworkIPv6 spec.ipv6Config fd00:10::/64",
		"zoneNetworksIPv4 spec.zoneConfig[0].ipv4Config 10.20.10.0/23",
	},
	"NutanixCluster.infrastructure.cluster.x-k8s.io": nil,
	"Metal3Cluster.infrastructure.cluster.x-k8s.io":  nil,
	"DockerCluster.infrastructure.cluster.x-k8s.io":  nil,
	"DevCluster.infrastructure.cluster.x-k8s.io":     nil,
}

var gcpNetwork = []string{
	"subnetCIDRs spec.network.subnets[0].cidrBlock 10.40.0.0/20",
	`subnetSecondaryCIDRs spec.network.subnets[0].secondaryCidrBlocks["pods"] 10.41.0.0/16`,
	`subnetSecondaryCIDRs spec.network.subnets[0].secondaryCidrBlocks["services"] 10.42.0.0/20`,
	"internalDNS spec.project .c.acme-prod.internal",
}

func TestEveryBuiltinRowReadsARealisticObject(t *testing.T) {
	objects := realisticObjects(t)
	rows := builtin(t).Rows()
	for _, row := range rows {
		name := row.Kind + "." + row.Group
		t.Run(name, func(t *testing.T) {
			want, wantOK := wantValues[name]
			object, objectOK := objects[name]
			if !wantOK || !objectOK {
				t.Fatal("a new row needs an object in testdata/objects and what is read from it in wantValues")
			}
			facts := provider.Extract(row, object)
			if diff := cmp.Diff(want, lines(facts.Values)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if len(facts.Missing)+len(facts.Problems) > 0 {
				t.Errorf("missing %v, problems %v", facts.Missing, facts.Problems)
			}
		})
	}
	if len(rows) != len(wantValues) || len(rows) != len(objects) {
		t.Errorf("%d rows, %d expectations, %d objects", len(rows), len(wantValues), len(objects))
	}
}

func TestEveryProviderWithAMetadataServiceHasItsAddresses(t *testing.T) {
	want := map[string][]string{
		"AWSCluster":               {"169.254.169.254", "fd00:ec2::254", ".ec2.internal", ".compute.internal"},
		"AWSManagedCluster":        {"169.254.169.254", "fd00:ec2::254", "169.254.170.23", "fd00:ec2::23", ".ec2.internal", ".compute.internal"},
		"AWSManagedControlPlane":   {"169.254.169.254", "fd00:ec2::254", "169.254.170.23", "fd00:ec2::23", ".ec2.internal", ".compute.internal"},
		"AzureCluster":             {"169.254.169.254", "168.63.129.16", ".internal.cloudapp.net", ".internal.chinacloudapp.cn"},
		"AzureManagedCluster":      {"169.254.169.254", "168.63.129.16", ".internal.cloudapp.net", ".internal.chinacloudapp.cn"},
		"AzureManagedControlPlane": {"169.254.169.254", "168.63.129.16", ".internal.cloudapp.net", ".internal.chinacloudapp.cn"},
		"AzureASOManagedCluster":   {"169.254.169.254", "168.63.129.16", ".internal.cloudapp.net", ".internal.chinacloudapp.cn"},
		"GCPCluster":               {"169.254.169.254", "fd20:ce::254", "metadata.google.internal", "metadata.google.internal."},
		"GCPManagedCluster":        {"169.254.169.254", "fd20:ce::254", "metadata.google.internal", "metadata.google.internal."},
		"GCPManagedControlPlane":   {"169.254.169.254", "fd20:ce::254", "metadata.google.internal", "metadata.google.internal."},
		"OpenStackCluster":         {"169.254.169.254", "fe80::a9fe:a9fe", ".openstacklocal", ".novalocal"},
	}
	for _, row := range builtin(t).Rows() {
		facts := provider.Extract(row, nil)
		if diff := cmp.Diff(want[row.Kind], slices.Concat(facts.Metadata, facts.Domains)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.Kind, diff)
		}
	}
}

func TestOnlyWhatTheProviderItselfAlwaysWritesIsRequired(t *testing.T) {
	want := map[string][]string{
		"AWSCluster":             {"vpcCIDR"},
		"AWSManagedControlPlane": {"vpcCIDR"},
		"AzureCluster":           {"vnetCIDRs"},
		"OpenStackCluster":       {"subnetCIDRs"},
	}
	for _, row := range builtin(t).Rows() {
		facts := provider.Extract(row, map[string]any{"spec": map[string]any{}})
		if diff := cmp.Diff(want[row.Kind], facts.Missing); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.Kind, diff)
		}
	}
}

// Clusters pin the version of the table that made their list, so a version's rows never change.
func TestTheBuiltinTableDoesNotChangeUnderItsVersion(t *testing.T) {
	digests := map[string]string{
		"Facts/v1": "b0b17157b89fb3fbfcddbb0f83b8217ee3acf2f0260f9ed59201a61ce3ddc787",
	}
	text, err := json.Marshal(builtin(t).Rows())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != digests[provider.Latest] {
		t.Errorf("the rows of %s have digest %s: once released, changed rows are a new version", provider.Latest, got)
	}
}

func TestEveryBuiltinRowSaysWhichVersionItIsOf(t *testing.T) {
	table := builtin(t)
	if table.Version() != "Facts/v1" {
		t.Errorf("version %q", table.Version())
	}
	for _, row := range table.Rows() {
		if row.Source != table.Version() {
			t.Errorf("%s has source %q", row.Kind, row.Source)
		}
	}
}

func builtin(t testing.TB) provider.Table {
	t.Helper()
	table, err := provider.Builtin(provider.Latest)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func lines(values []provider.Value) []string {
	var out []string
	for _, value := range values {
		out = append(out, value.Fact+" "+value.Path+" "+value.Entry)
	}
	return out
}

// realisticObjects returns the objects in testdata/objects, by kind and group.
func realisticObjects(t testing.TB) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/objects/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := parseObject(t, string(data))
		group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
		objects[object["kind"].(string)+"."+group] = object
	}
	return objects
}

func parseObject(t testing.TB, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
