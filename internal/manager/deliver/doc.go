// Package deliver runs "fairlead-operator deliver": Clusters with the label fairlead.io/cluster get the Secret fairlead-source in
// their workload cluster, by ClusterResourceSets of Cluster API. No kubeconfig is read.
//
//	reconcile.go  one Cluster: read, have package delivery decide, write the difference
//	keep.go       what is kept in the management cluster
//	answer.go     what Cluster API says of it, into status.delivered of the ProxyReport
//	objects.go    the objects, and what of them is in caches
//	watch.go      which Cluster an event is about
//
// Who writes such objects is administrator of every cluster they reach: see docs/explanation/threat-model.md.
package deliver
