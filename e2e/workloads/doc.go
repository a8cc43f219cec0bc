// Package workloads tests the settings of special workloads: charts of others that take the Helm values of a
// cluster, and clients that read the environment only where they are told to.
package workloads
