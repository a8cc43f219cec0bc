// Package workloads holds tests of what special workloads get: charts of others that take the Helm values of a
// cluster, and clients that read the environment only where they are told to.
package workloads
