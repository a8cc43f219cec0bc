// Package bundle makes ClusterResourceSets of Cluster API from the manifests of a chart, so that Clusters with a label get what is
// in them. It renders no chart and reads no cluster.
//
//	bundle.go   manifests → ClusterResourceSets, and the ConfigMaps and Secrets that they name
//	objects.go  the objects of the management cluster
//	check.go    what must not be given to every cluster alike
package bundle
