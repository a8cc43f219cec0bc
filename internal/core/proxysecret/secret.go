// Package proxysecret is the contract of the Secret fairlead-proxy, from which pods take their settings: its name, its
// keys, and the time of its last change. It also covers the ConfigMap beside it. Both are rendered by
// charts/fairlead-policies and copied by package replicator. It has no clock and no client.
package proxysecret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// The names of the contract.
const (
	Name  = render.PodSecretName // in every namespace
	Role  = render.PodRole       // the value of render.SecretLabel; without it, the Secret is somebody else's
	CAKey = render.PodCAKey      // where charts/fairlead-policies once had the bundle, for pods that still mount it

	// The ConfigMap with the authorities, apart from the password: it is large, and no secret. Its key is CAKey.
	TrustedCAName = render.PodConfigMapName
	TrustedCARole = render.PodConfigMapRole // the value of render.ConfigMapLabel

	// TrustedCALabel is on pods that mount it: policies/inject-trusted-ca and tunnel-relay set it.
	TrustedCALabel = "fairlead.io/trusted-ca"

	// ChangedAtAnnotation of a copy says when its data last became different: RFC 3339, UTC. Containers that
	// started earlier have older settings.
	ChangedAtAnnotation = "fairlead.io/changed-at"
)

// IsOurs reports whether a Secret of our name may be written.
func IsOurs(o metav1.Object) bool { return o.GetLabels()[render.SecretLabel] == Role }

// IsOurTrustedCA reports whether a ConfigMap of our name may be written.
func IsOurTrustedCA(o metav1.Object) bool {
	return o.GetLabels()[render.ConfigMapLabel] == TrustedCARole
}

// Data returns the keys of the contract, and leaves others behind. It is an error if one of the six is missing,
// or if there is a proxy without NO_PROXY: everything inside the cluster would go through it. The error names
// keys, never values. A pod refers to all six, so all six are always there; blank means direct.
func Data(secret *corev1.Secret) (map[string][]byte, error) {
	data := map[string][]byte{}
	var missing []string
	proxied := false
	for _, key := range proxyenv.Names {
		value, ok := secret.Data[key]
		if !ok {
			missing = append(missing, key)
		}
		data[key] = value
		proxied = proxied || !proxyenv.IsList(key) && len(value) > 0
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("keys are missing: %s", strings.Join(missing, ", "))
	}
	for _, key := range []string{proxyenv.NoProxy, proxyenv.LowerNoProxy} {
		if len(bytes.Trim(data[key], ", \t\r\n")) == 0 && proxied {
			return nil, fmt.Errorf("%s is empty although there is a proxy", key)
		}
	}
	if bundle, ok := secret.Data[CAKey]; ok {
		data[CAKey] = bundle
	}
	return data, nil
}

// BothCases returns what a Secret with the three variables in upper case has as one with all six. Other keys are left behind.
func BothCases(data map[string][]byte) map[string][]byte {
	both := map[string][]byte{}
	for _, key := range proxyenv.Names {
		if value, ok := data[proxyenv.From(key)]; ok {
			both[key] = value
		}
	}
	return both
}

// Equal compares data; an absent key is not an empty one.
func Equal(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, slices.Equal)
}

// DataChangedAt returns when somebody last wrote to a Secret's data: the newest time in its managedFields that
// goes with f:data, else that of its creation. It is never too early, but may be too late: who owns data and
// changes something else moves it, too.
func DataChangedAt(secret metav1.Object) time.Time {
	changed := secret.GetCreationTimestamp().UTC()
	for _, entry := range secret.GetManagedFields() {
		if entry.Time != nil && ownsData(entry) && entry.Time.After(changed) {
			changed = entry.Time.UTC()
		}
	}
	return changed
}

func ownsData(entry metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var owned struct {
		Data json.RawMessage `json:"f:data"`
	}
	return json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) == nil && owned.Data != nil
}
