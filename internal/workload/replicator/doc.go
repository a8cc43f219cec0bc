// Package replicator keeps a copy of the Secret fairlead-proxy in every namespace whose pods may refer to it, and one of
// the ConfigMap fairlead-trusted-ca in every namespace with pods that mount it. It is the operator's second role, in the
// workload cluster. For each namespace it reads, decides and writes, in that order:
//
//	reconcile.go                caches, and live the pods where something is to be taken away → state
//	decide.go and trustedca.go  state → decision about each of the two, pure
//	reconcile.go                decision → at most one request
//
// credentials.go counts, for metrics, who has which credentials: copies, and pods by when they started.
//
// exclusions.go ends the exclusion of namespaces at the time that their annotation says.
//
// The reconcile of its own namespace, where the source is, reports the source.
package replicator
