package provider

import "slices"

// API is the service that makes the machines of a kind, such as a vCenter. Its address stands in the infrastructure
// object, and no list has it by itself. People must say whether the proxy or the company's own network leads to it; see
// docs/how-to/node-network.md.
type API struct {
	Name string // what people call it
	Path string // where in the object its host or URL stands
}

// apis has no row for a kind whose object does not name its API. The sources are those of providers.yaml.
var apis = map[groupKind]API{
	{"infrastructure.cluster.x-k8s.io", "VSphereCluster"}: {"vCenter", "spec.server"},
	{"infrastructure.cluster.x-k8s.io", "NutanixCluster"}: {"Prism Central", "spec.prismCentral.address"},
	{"infrastructure.cluster.x-k8s.io", "VCDCluster"}:     {"Cloud Director", "spec.site"},
}

// APIOf returns the API of a kind of infrastructure object.
func APIOf(group, kind string) (API, bool) {
	api, ok := apis[groupKind{group, kind}]
	return api, ok
}

// Address returns the API's host or URL as an object has it, or "".
func (a API) Address(object map[string]any) string {
	path, _ := parsePath(a.Path) // a test parses each
	var address string
	path.walk(object, "", func(_ string, value any) { address, _ = value.(string) }, func(string, error) {})
	return address
}

// AwaitsNetwork reports whether a row has a network without which no list is made.
func (r Row) AwaitsNetwork() bool {
	return slices.ContainsFunc(r.Facts, func(f Fact) bool { return f.Required && (f.Type == CIDR || f.Type == "") })
}
