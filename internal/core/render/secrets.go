package render

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// MaxNoProxyBytes is the longest NO_PROXY, or proxy URL, that is rendered. A
// process cannot be started with an environment string of 131,072 bytes or more
// (execve(2), MAX_ARG_STRLEN), the name, "=" and final NUL included.
const MaxNoProxyBytes = 131_000

// Secrets returns the two Secrets of a cluster. The error is a *resolve.Problem
// if the configuration is more than its consumers can carry.
func Secrets(e resolve.Effective) ([]Secret, error) {
	if err := checkLengths(e); err != nil {
		return nil, err
	}
	values, err := Values(e)
	if err != nil {
		return nil, err
	}
	node, err := nodeData(e)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, content := range node {
		total += len(content)
	}
	if total > maxSecretBytes {
		return nil, problemAt(e, "Secret "+e.Cluster+SystemdSuffix, tooLong(
			"has %d bytes in %d keys; a Secret holds at most %d: shorten NO_PROXY or the trusted CA, or ask for less in spec.node of CorporateProxy %s",
			total, len(node), maxSecretBytes, e.Proxy))
	}
	forCharts := secret(e, ValuesSuffix, ValuesRole, map[string][]byte{ValuesKey: values})
	forCharts.Labels[FluxWatchLabel] = FluxWatchEnabled
	return []Secret{forCharts, secret(e, SystemdSuffix, SystemdRole, node)}, nil
}

// maxSecretBytes is the most that the API server takes (MaxSecretSize in
// k8s.io/api/core/v1); maxLabelValue is the longest value of a Kubernetes label.
const (
	maxSecretBytes = 1 << 20
	maxLabelValue  = 63
)

// checkLengths refuses variables that no process can be given, and a name that is no label.
func checkLengths(e resolve.Effective) error {
	longest := noproxy.AudienceGo
	if len(e.NoProxy.Any.String()) > len(e.NoProxy.Go.String()) {
		longest = noproxy.AudienceAny
	}
	for _, v := range environment(e, longest) {
		if n := len(v.value); n > MaxNoProxyBytes {
			return problemAt(e, v.name, tooLong("has %d bytes (%d entries in NO_PROXY); a process environment carries at most %d bytes",
				n, len(e.NoProxy.For(longest)), MaxNoProxyBytes))
		}
	}
	if len(e.Cluster) > maxLabelValue {
		return problemAt(e, "metadata.name", refusal{
			resolve.ReasonInvalidCluster, fmt.Sprintf("has more than %d characters, which the label %s cannot carry", maxLabelValue, ClusterLabel),
		})
	}
	return nil
}

func secret(e resolve.Effective, suffix, role string, data map[string][]byte) Secret {
	return Secret{e.Namespace, e.Cluster + suffix, clusterLabels(e, SecretLabel, role), data}
}

// clusterLabels returns the labels of an object beside a Cluster, with the label that says what it is.
func clusterLabels(e resolve.Effective, label, role string) map[string]string {
	return map[string]string{label: role, ClusterLabel: e.Cluster, ManagedLabel: Manager, MoveLabel: ""}
}
