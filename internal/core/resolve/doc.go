// Package resolve decides: from one installation, one Cluster, the facts of its
// infrastructure and its owner's wishes it makes the one [Effective] proxy
// configuration of that cluster, or says in a [Problem] why there is none yet.
//
// The order of a list in form Exact, the first occurrence of an entry winning:
//
//	service domain, service CIDRs, pod CIDRs, control-plane endpoint host,
//	entries of the installation, entries of the cluster, svc, 127.0.0.1, localhost
//
// The package is pure: plain values in and out, no Kubernetes library, context,
// logger, clock, file or network.
package resolve
