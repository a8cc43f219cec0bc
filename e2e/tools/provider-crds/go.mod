// The modules whose CRDs tests read, providers' and Argo CD's for e2e/provider, and Flux's for e2e/flux: versions and checksums pinned in one place.
// Nothing here is compiled and nothing is imported; the test downloads each module and reads YAML from it.
// To follow a provider's release: change the version, run `go mod download <module>@<version>` here, run the test.
module github.com/fairlead-io/fairlead/e2e/tools/provider-crds

go 1.26.4

require (
	github.com/argoproj/argo-cd/v3 v3.5.7
	github.com/fluxcd/source-controller v1.7.0
	github.com/ionos-cloud/cluster-api-provider-proxmox v0.9.0
	github.com/k3s-io/cluster-api-k3s v0.3.0
	github.com/nutanix-cloud-native/cluster-api-provider-nutanix v1.10.3
	github.com/siderolabs/cluster-api-bootstrap-provider-talos v0.6.7
	github.com/vmware/cluster-api-provider-cloud-director v1.3.2
	sigs.k8s.io/cluster-api-provider-aws/v2 v2.13.0
	sigs.k8s.io/cluster-api-provider-azure v1.23.0
	sigs.k8s.io/cluster-api-provider-gcp v1.13.1
	sigs.k8s.io/cluster-api-provider-openstack v0.14.7
	sigs.k8s.io/cluster-api-provider-vsphere v1.16.1
	sigs.k8s.io/cluster-api/test v1.14.0
)
