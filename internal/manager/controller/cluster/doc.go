// Package cluster keeps the two Secrets and the ProxyReport of each Cluster:
//
//	read.go   caches, and live the infrastructure object → state
//	write.go  writes what package decide decided (package apply), then the ProxyReport
//
// What it remembers of a cluster is in memory.go.
package cluster
