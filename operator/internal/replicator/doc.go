// Package replicator keeps a copy of the Secret fairlead-proxy in every namespace whose pods may refer to it. It
// is the operator's second role, in the workload cluster. For each namespace it reads, decides and writes, in that
// order:
//
//	reconcile.go  caches, and live the pods where something is to be taken away → state
//	decide.go     state → decision, pure
//	reconcile.go  decision → at most one request
//
// The reconcile of its own namespace, where the source is, reports the source.
package replicator
