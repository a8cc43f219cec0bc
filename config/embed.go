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
