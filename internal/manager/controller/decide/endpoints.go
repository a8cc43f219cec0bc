package decide

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// maxEndpoints is how many hosts the condition EndpointsDirect names.
const maxEndpoints = 20

// bypassLists are the NO_PROXY lists that the clients of a cluster find beside a
// proxy for https: none where they find no such proxy.
type bypassLists struct {
	known bool
	lists []string
}

// resolvedLists returns the lists that are written now.
func resolvedLists(e resolve.Effective) bypassLists {
	if e.HTTPS.IsZero() {
		return bypassLists{known: true}
	}
	return bypassLists{true, []string{e.NoProxy.Go.String(), e.NoProxy.Any.String()}}
}

// reportedLists returns the lists that were written last. Whether a proxy for https stood
// beside them is not reported; that one did is the safe reading. A list that was
// too long for the report is not known.
func reportedLists(status v1alpha1.ProxyReportStatus) bypassLists {
	switch mode := resolve.Mode(status.Mode); {
	case mode == resolve.ModeDirect, mode == resolve.ModeUnproxied:
		return bypassLists{known: true}
	case status.NoProxy.Go == "", status.NoProxy.Any == "":
		return bypassLists{}
	}
	return bypassLists{true, []string{status.NoProxy.Go, status.NoProxy.Any}}
}

// setEndpointsDirect sets the condition EndpointsDirect on the report of the
// management cluster, and removes it from every other.
func setEndpointsDirect(conditions *[]metav1.Condition, lists bypassLists, s State) {
	if !s.Management {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionEndpointsDirect)
		return
	}
	meta.SetStatusCondition(conditions, endpointsDirect(lists, s.Endpoints))
}

// endpointsDirect says whether every endpoint is dialled directly. The message of
// True does not count, so that a fleet that grows causes no writes.
func endpointsDirect(lists bypassLists, endpoints []clusterv1.APIEndpoint) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionEndpointsDirect}
	if !lists.known {
		condition.Status, condition.Reason = metav1.ConditionUnknown, v1alpha1.ReasonListUnknown
		condition.Message = "this cluster's own NO_PROXY is not known; the condition Ready says why"
		return condition
	}
	hosts := proxiedHosts(lists.lists, endpoints)
	if len(hosts) == 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonEndpointsBypassed
		condition.Message = "the known control-plane endpoints of all other clusters are dialled directly"
		return condition
	}
	condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonEndpointsThroughProxy
	named := strings.Join(hosts[:min(len(hosts), maxEndpoints)], ", ")
	if more := len(hosts) - maxEndpoints; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	condition.Message = machinery.Shorten(fmt.Sprintf("%d control-plane endpoint hosts of other clusters are not covered by this cluster's NO_PROXY, "+
		"and its controllers dial them through the proxy: %s", len(hosts), named))
	return condition
}

// proxiedHosts returns the hosts of the endpoints, each once and sorted, that a Go
// program with one of the lists dials through a proxy.
func proxiedHosts(lists []string, endpoints []clusterv1.APIEndpoint) []string {
	controllers, _ := dialect.Find("go") // Cluster API, and whoever else dials them
	proxied := map[string]bool{}
	for _, list := range lists {
		const proxy = "http://proxy.invalid:3128" // any will do
		decide := controllers.Newest().Read(dialect.Uniform(proxy, proxy, list, ""))
		for _, endpoint := range endpoints {
			host, target, ok := dialled(endpoint)
			if ok && decide(target).Route != dialect.Direct {
				proxied[host] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(proxied))
}

// dialled returns the host of an endpoint and the URL that controllers ask for. An
// impossible host is for the report of its own cluster to complain of.
func dialled(endpoint clusterv1.APIEndpoint) (string, dialect.Target, bool) {
	entry, err := noproxy.HostEntry(endpoint.Host)
	if err != nil {
		return "", dialect.Target{}, false
	}
	port := 443 // of a URL without one
	if endpoint.Port != 0 {
		port = int(endpoint.Port)
	}
	host := entry.String()
	target, err := dialect.ParseTarget("https://" + net.JoinHostPort(host, strconv.Itoa(port)))
	return host, target, err == nil
}
