package replicator

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// trustedCA is the ConfigMap with the authorities in one namespace. A bundle can have a quarter of a
// megabyte: it comes when the first pod that mounts it does, and stays.
type trustedCA struct {
	source map[string]string // data; nil if the chart has no bundle
	copy   *corev1.ConfigMap // of our name, whoever made it; nil if there is none
	needed bool              // a pod there has the label of those that mount it
}

// readTrustedCA takes nil for a ConfigMap that does not exist. Other keys are left behind.
func readTrustedCA(source *corev1.ConfigMap) map[string]string {
	if source == nil || source.Data[proxysecret.CAKey] == "" {
		return nil
	}
	return map[string]string{proxysecret.CAKey: source.Data[proxysecret.CAKey]}
}

// losesTrustedCA reports whether the copy is to be taken away, if no pod refers to it.
func losesTrustedCA(s state) bool {
	c := s.trustedCA
	return c.copy != nil && proxysecret.IsOurTrustedCA(c.copy) && (s.excluded || c.source == nil)
}

// decideTrustedCA says what a namespace needs of the ConfigMap. Without a state, there is nothing to say of it.
func decideTrustedCA(s state) decision {
	c := s.trustedCA
	switch {
	case s.terminating || s.source.problem != "":
		return decision{}
	case c.copy == nil && (s.excluded || c.source == nil || !c.needed):
		return decision{}
	case c.copy == nil:
		return decision{verb: create, state: stateCurrent, object: newTrustedCA(s)}
	case !proxysecret.IsOurTrustedCA(c.copy) && c.needed && !s.excluded:
		return nameTaken(render.ConfigMapLabel, proxysecret.TrustedCARole)
	case !proxysecret.IsOurTrustedCA(c.copy):
		return decision{}
	case losesTrustedCA(s) && !s.inUse.trustedCA:
		return decision{verb: remove, object: c.copy}
	}
	return mendTrustedCA(s)
}

// mendTrustedCA makes an existing copy right.
func mendTrustedCA(s state) decision {
	c, d := s.trustedCA, decision{state: stateCurrent}
	if losesTrustedCA(s) {
		d.state, d.pollAgain = stateInUse, true
	}
	switch {
	case c.source == nil || maps.Equal(c.copy.Data, c.source) && len(c.copy.BinaryData) == 0:
		return d
	case c.copy.Immutable != nil && *c.copy.Immutable:
		return immutable
	}
	right := c.copy.DeepCopy()
	right.Data, right.BinaryData = c.source, nil
	d.verb, d.object = update, right
	return d
}

func newTrustedCA(s state) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace,
			Name:      proxysecret.TrustedCAName,
			Labels:    map[string]string{render.ConfigMapLabel: proxysecret.TrustedCARole, render.ManagedLabel: render.Manager},
		},
		Data: s.trustedCA.source,
	}
}
