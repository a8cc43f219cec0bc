// Package provider knows what an infrastructure provider adds to NO_PROXY: the addresses and private
// names that are the same for every cluster of a kind, and where in the cluster's infrastructure object
// its networks are written. That knowledge is data (providers.yaml), not code: a provider is a row, and
// users add rows of their own with the same schema.
//
// It is pure: plain values in and out. It must not import a Kubernetes client, apimachinery, a context,
// a logger or a clock. Entries are plain strings; the caller reads them with its own NO_PROXY parser and
// judges how broad they are, since an infrastructure object may be a tenant's to write.
package provider
