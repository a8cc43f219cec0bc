package lint

import (
	"fmt"
	"strings"
)

// empty returns the findings where no entry is listed, or no proxy is set.
func empty(in Input) []Finding {
	var findings []Finding
	if in.Off {
		findings = append(findings, Finding{
			Code: NoProxy, Severity: Info, Mend: "set both, if there is a proxy",
			Why: "neither HTTP_PROXY nor HTTPS_PROXY is set: " + through(in.Except),
		})
	}
	if !in.Empty || in.unproxied() {
		return findings
	}
	findings = append(findings, Finding{
		Code: EmptyList, Severity: Error, Mend: "list what is inside: fairlead render --values FILE --cluster FILE -o noproxy writes the list of a cluster",
		Why: "NO_PROXY is empty or not set: everything goes through the proxy, also what is in the cluster",
	})
	if in.Cluster == nil {
		return findings
	}
	if len(in.Cluster.PodCIDRs) == 0 {
		findings = append(findings, Finding{
			Code: MissingPods, Severity: Error, Mend: "write the pod network of the cluster there, or list it",
			Why: fmt.Sprintf("does not cover the pod network, which %s does not name (spec.clusterNetwork.pods.cidrBlocks)", in.Cluster.Object()),
		})
	}
	return append(findings, noLoopback())
}

// through says who goes through a proxy where the usual variables are not set.
func through(some []string) string {
	if len(some) == 0 {
		return "nothing goes through a proxy, whatever is listed"
	}
	return "only " + strings.Join(some, " and ") + " uses a proxy"
}

func noLoopback() Finding {
	return Finding{
		Code: MissingLoopback, Severity: Error, Mend: "add localhost and 127.0.0.1",
		Why: "does not have both localhost and 127.0.0.1: some clients ask the proxy for them, and the containers of a pod reach each other there",
	}
}
