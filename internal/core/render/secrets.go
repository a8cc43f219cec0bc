package render

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// MaxNoProxyBytes is the longest NO_PROXY, or proxy URL, that is rendered. A
// process cannot be started with an environment string of 131,072 bytes or more
// (execve(2), MAX_ARG_STRLEN), the name, "=" and final NUL included.
const MaxNoProxyBytes = 131_000

// Secrets returns the two Secrets of a cluster. The error is a *resolve.Problem
// if the configuration is more than its consumers can carry.
func Secrets(e resolve.Effective) ([]Secret, error) {
	if p := tooLarge(e); p != nil {
		return nil, p
	}
	if len(e.Cluster) > maxLabelValue {
		return nil, &resolve.Problem{
			Reason: resolve.ReasonInvalidCluster, Object: "Cluster " + e.Namespace + "/" + e.Cluster, Field: "metadata.name",
			Detail: fmt.Sprintf("has more than %d characters, which the label %s cannot carry", maxLabelValue, ClusterLabel),
		}
	}
	values, err := Values(e)
	if err != nil {
		return nil, err
	}
	node, err := nodeData(e)
	if err != nil {
		return nil, err
	}
	if p := tooLargeForSecret(e, node); p != nil {
		return nil, p
	}
	forCharts := secret(e, ValuesSuffix, ValuesRole, map[string][]byte{ValuesKey: values})
	forCharts.Labels[FluxWatchLabel] = FluxWatchEnabled
	return []Secret{forCharts, secret(e, SystemdSuffix, SystemdRole, node)}, nil
}

// maxLabelValue is the longest value of a Kubernetes label.
const maxLabelValue = 63

func tooLarge(e resolve.Effective) *resolve.Problem {
	longest := noproxy.AudienceGo
	if len(e.NoProxy.Any.String()) > len(e.NoProxy.Go.String()) {
		longest = noproxy.AudienceAny
	}
	for _, v := range environment(e, longest) {
		if n := len(v.value); n > MaxNoProxyBytes {
			return &resolve.Problem{
				Reason: resolve.ReasonTooLarge,
				Object: "Cluster " + e.Namespace + "/" + e.Cluster,
				Field:  v.name,
				Detail: fmt.Sprintf("has %d bytes (%d entries in NO_PROXY); a process environment carries at most %d bytes", n, len(e.NoProxy.For(longest)), MaxNoProxyBytes),
			}
		}
	}
	return nil
}

// maxSecretBytes is the most that the API server takes (MaxSecretSize in
// k8s.io/api/core/v1).
const maxSecretBytes = 1 << 20

func tooLargeForSecret(e resolve.Effective, data map[string][]byte) *resolve.Problem {
	total := 0
	for _, content := range data {
		total += len(content)
	}
	if total <= maxSecretBytes {
		return nil
	}
	return &resolve.Problem{
		Reason: resolve.ReasonTooLarge,
		Object: "Cluster " + e.Namespace + "/" + e.Cluster,
		Field:  "Secret " + e.Cluster + SystemdSuffix,
		Detail: fmt.Sprintf("has %d bytes in %d keys; a Secret holds at most %d: shorten NO_PROXY or the trusted CA, or ask for less in spec.node of CorporateProxy %s",
			total, len(data), maxSecretBytes, e.Proxy),
	}
}

func secret(e resolve.Effective, suffix, role string, data map[string][]byte) Secret {
	return Secret{
		Namespace: e.Namespace,
		Name:      e.Cluster + suffix,
		Labels: map[string]string{
			SecretLabel:  role,
			ClusterLabel: e.Cluster,
			ManagedLabel: Manager,
			MoveLabel:    "",
		},
		Data: data,
	}
}
