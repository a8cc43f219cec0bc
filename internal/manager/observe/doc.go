// Package observe runs "fairlead-operator observe": once a period it reads the result that each workload cluster publishes, with
// that cluster's kubeconfig, and writes status.observed of its ProxyReport.
//
//	sweep.go       when each cluster has its turn
//	look.go        one cluster: read, have package observation decide, write the difference
//	kubeconfig.go  a Secret that others write → how to reach an API server; runs nothing and reads no file
//	remote.go      bounded requests to an API server that may be anybody's
//	failure.go     why one was not read, in words of ours
//	machines.go    with Options.Machines: a condition of Machines that have the readiness gate
//
// It has rights that the operator has not: see docs/explanation/threat-model.md.
package observe
