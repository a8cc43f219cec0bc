// Package config holds the manifests that install Fairlead: the CRDs, which are generated from api/v1alpha1, and permissions. All but
// Files is for those alone who want what it is for.
package config

import "embed"

var (
	// Files are the CRDs, and what every operator may do.
	//go:embed crd/*.yaml rbac/*.yaml
	Files embed.FS

	// Rollout is what the operator needs to replace machines.
	//go:embed rollout/*.yaml
	Rollout embed.FS

	// Observe says who observes workload clusters, and may do so.
	//go:embed observe/*.yaml observe-machines/*.yaml
	Observe embed.FS

	// OwnerReferences is what the operator needs where the API server enforces permissions on owner references.
	//go:embed owner-references/*.yaml
	OwnerReferences embed.FS

	// StatusPage is what the operator needs to serve its status page, and who may see that.
	//go:embed status-page/*.yaml
	StatusPage embed.FS

	// Preflight is what a program needs that tries new revisions in the management cluster.
	//go:embed preflight/*.yaml
	Preflight embed.FS

	// Deliver says who has Cluster API apply settings in workload clusters, and may do so.
	//go:embed deliver/*.yaml
	Deliver embed.FS
)
