// Package config holds the manifests that install Fairlead: the CRDs, which are
// generated from api/v1alpha1, and the operator's permissions.
package config

import "embed"

// Files are crd/*.yaml and rbac/*.yaml.
//
//go:embed crd/*.yaml rbac/*.yaml
var Files embed.FS

// Rollout is rollout/*.yaml: what the operator needs beyond Files to replace
// machines. Only who wants that applies it.
//
//go:embed rollout/*.yaml
var Rollout embed.FS

// Observe is observe/*.yaml and observe-machines/*.yaml: who observes workload clusters, and may do so. Only who wants that
// applies it.
//
//go:embed observe/*.yaml observe-machines/*.yaml
var Observe embed.FS

// OwnerReferences is owner-references/*.yaml: what the operator needs where the API server enforces permissions on owner
// references. Only who has such a one applies it.
//
//go:embed owner-references/*.yaml
var OwnerReferences embed.FS

// StatusPage is status-page/*.yaml: what the operator needs to serve its status page, and who may see that. Only who wants
// it applies it.
//
//go:embed status-page/*.yaml
var StatusPage embed.FS

// Preflight is preflight/*.yaml: what a program needs that tries new revisions in the management cluster. Only who wants
// that applies it.
//
//go:embed preflight/*.yaml
var Preflight embed.FS

// Deliver is deliver/*.yaml: who has Cluster API apply settings in workload clusters, and may do so. Only who wants that
// applies it.
//
//go:embed deliver/*.yaml
var Deliver embed.FS
