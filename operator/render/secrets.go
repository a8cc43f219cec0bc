package render

import (
	"fmt"

	"github.com/fairlead-io/fairlead/operator/resolve"
)

// MaxNoProxyBytes is the longest NO_PROXY that is rendered. A process cannot
// be started with an environment string of 131,072 bytes or more (execve(2),
// MAX_ARG_STRLEN), the name, "=" and final NUL included.
const MaxNoProxyBytes = 131_000

// Secrets returns the two Secrets of a cluster. The error is a *resolve.Problem
// if the configuration is more than its consumers can carry.
func Secrets(e resolve.Effective) ([]Secret, error) {
	if n := len(e.NoProxy.String()); n > MaxNoProxyBytes {
		return nil, &resolve.Problem{
			Reason: resolve.ReasonTooLarge,
			Object: "Cluster " + e.Namespace + "/" + e.Cluster,
			Field:  "NO_PROXY",
			Detail: fmt.Sprintf("the merged list has %d entries and %d bytes; a process environment carries at most %d bytes", len(e.NoProxy), n, MaxNoProxyBytes),
		}
	}
	values, err := Values(e)
	if err != nil {
		return nil, err
	}
	dropIn, err := DropIn(e)
	if err != nil {
		return nil, err
	}
	return []Secret{
		secret(e, ValuesSuffix, ValuesRole, map[string][]byte{ValuesKey: values}),
		secret(e, SystemdSuffix, SystemdRole, map[string][]byte{ContainerdKey: dropIn, KubeletKey: dropIn}),
	}, nil
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
