package lint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Alone returns the input for an installation's own list where nothing adds to it what a cluster needs, as in a cluster that
// Cluster API does not manage: its pods get the list as it is written.
func Alone(i resolve.Installation) Input {
	return Input{
		Entries: i.NoProxy, Any: i.NoProxy.String(), HTTP: i.HTTP, HTTPS: i.HTTPS, Certificates: i.Node.Certificates, Alone: true,
	}
}

// neededByAll are hosts that pods of every cluster ask for without the proxy.
var neededByAll = []struct{ host, why, mend string }{
	{"name.namespace.svc", "the names of services", "add .svc"},
	{"name.namespace.svc.cluster.local", "the full names of services", "add .cluster.local, or the service domain that the cluster has"},
}

// alone names what the list lacks for the pods of any cluster, and what depends on the cluster and is not known.
func alone(in Input) []Finding {
	if !in.Alone {
		return nil
	}
	list := dialect.CompileGo(in.Any)
	findings := []Finding{{
		Code: NoCluster, Severity: Warning,
		Why: "no Cluster is given: the service network, the pod network, the API server's endpoint and the nodes' network are unknown, " +
			"and so is whether the list covers them; with charts/fairlead the operator adds them for each cluster, with charts/fairlead-policies alone nobody does",
		Mend: "describe the cluster in a file and give it with --cluster; fairlead render -o helm-values then writes the whole list",
	}}
	for _, need := range neededByAll {
		if !covers(list, need.host) {
			findings = append(findings, Finding{Code: MissingServices, Severity: Error, Why: "does not cover " + need.why, Mend: need.mend})
		}
	}
	if !loopback(in.Entries) {
		findings = append(findings, noLoopback())
	}
	if lacks := metadata(list); len(lacks) > 0 {
		findings = append(findings, Finding{
			Code: MissingMetadata, Severity: Warning,
			Why:  "does not cover where clouds tell and lend a machine's pods what they ask for, credentials above all: " + strings.Join(lacks, ", "),
			Mend: "add those of the cloud that the cluster is in: docs/how-to/imported-clusters.md has them",
		})
	}
	return findings
}

// loopback reports whether a list has both, by itself: there are clients to which they mean nothing special.
func loopback(list noproxy.List) bool {
	has := func(is func(noproxy.Entry) bool) bool {
		return slices.ContainsFunc(list, func(item noproxy.Item) bool { return item.Entry.Kind == noproxy.All || is(item.Entry) })
	}
	return has(func(e noproxy.Entry) bool { return e.Name == "localhost" }) &&
		has(func(e noproxy.Entry) bool { return e.Prefix.Contains(netip.AddrFrom4([4]byte{127, 0, 0, 1})) })
}

// metadata returns the metadata services of all providers that the list does not cover. Those of IPv6 are left out: few
// lists can have them.
func metadata(list *dialect.GoList) []string {
	table, err := provider.Builtin("")
	if err != nil {
		return nil // a test reads the table
	}
	var lacks []string
	for _, row := range table.Rows() {
		for _, host := range row.Metadata {
			host = strings.TrimSuffix(host, ".")
			if !strings.ContainsAny(host, ":/") && !slices.Contains(lacks, host) && !covers(list, host) {
				lacks = append(lacks, host)
			}
		}
	}
	return lacks
}
