package replicator

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

func bundleOf(text string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: proxysecret.TrustedCAName, ResourceVersion: "7",
			Labels: map[string]string{render.ConfigMapLabel: proxysecret.TrustedCARole},
		},
		Data: map[string]string{proxysecret.CAKey: text},
	}
	for _, change := range change {
		change(configMap)
	}
	return configMap
}

func TestTheDecisionAboutTheBundleOfANamespace(t *testing.T) {
	foreign := func(c *corev1.ConfigMap) { c.Labels = nil }
	immutable := func(c *corev1.ConfigMap) { c.Immutable = ptr.To(true) }
	for name, row := range map[string]struct {
		source, copy *corev1.ConfigMap
		needed       bool
		excluded     bool
		ending       bool
		lost         bool // the source of the Secret
		inUse        bool
		verb         string
		state        string
		looksAgain   bool
	}{
		"no bundle":                           {},
		"no bundle, although a pod mounts it": {needed: true},
		"no pod mounts it":                    {source: bundleOf("PEM")},
		"the first pod that mounts it":        {source: bundleOf("PEM"), needed: true, verb: create, state: stateCurrent},
		"the last such pod has gone":          {source: bundleOf("PEM"), copy: bundleOf("PEM"), state: stateCurrent},
		"nothing is wrong":                    {source: bundleOf("PEM"), copy: bundleOf("PEM"), needed: true, state: stateCurrent},
		"another bundle":                      {source: bundleOf("new"), copy: bundleOf("PEM"), verb: update, state: stateCurrent},
		"a key was put into the copy":         {source: bundleOf("PEM"), copy: bundleOf("PEM", func(c *corev1.ConfigMap) { c.Data["x"] = "y" }), verb: update, state: stateCurrent},
		"a key was put in as bytes":           {source: bundleOf("PEM"), copy: bundleOf("PEM", func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"x": nil} }), verb: update, state: stateCurrent},
		"a foreign key in the source":         {source: bundleOf("PEM", func(c *corev1.ConfigMap) { c.Data["x"] = "y" }), copy: bundleOf("PEM"), state: stateCurrent},
		"a source without the key":            {source: &corev1.ConfigMap{}, needed: true},
		"immutable and wrong":                 {source: bundleOf("new"), copy: bundleOf("PEM", immutable), verb: refuse, state: stateImmutable},
		"immutable and right":                 {source: bundleOf("PEM"), copy: bundleOf("PEM", immutable), state: stateCurrent},
		"somebody else's, and pods mount it":  {source: bundleOf("PEM"), copy: bundleOf("PEM", foreign), needed: true, verb: refuse, state: stateNameTaken},
		"somebody else's, and none does":      {source: bundleOf("PEM"), copy: bundleOf("PEM", foreign)},
		"somebody else's, excluded":           {source: bundleOf("PEM"), copy: bundleOf("PEM", foreign), needed: true, excluded: true},
		"an excluded namespace":               {source: bundleOf("PEM"), needed: true, excluded: true},
		"newly excluded":                      {source: bundleOf("PEM"), copy: bundleOf("PEM"), excluded: true, verb: remove},
		"newly excluded, in use and wrong":    {source: bundleOf("new"), copy: bundleOf("PEM"), excluded: true, inUse: true, verb: update, state: stateInUse, looksAgain: true},
		"the bundle goes":                     {copy: bundleOf("PEM"), verb: remove},
		"the bundle goes, in use":             {copy: bundleOf("PEM"), inUse: true, state: stateInUse, looksAgain: true},
		"a namespace that ends":               {source: bundleOf("PEM"), needed: true, ending: true},
		"nothing of ours is there any more":   {copy: bundleOf("PEM"), lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := state{
				namespace: "ns", terminating: row.ending, excluded: row.excluded, source: readSource(secretOf(settings("http://p:1"))), inUse: needs{trustedCA: row.inUse},
				trustedCA: trustedCA{source: readTrustedCA(row.source), copy: row.copy, needed: row.needed},
			}
			if row.lost {
				s.source = readSource(nil)
			}
			d := decideTrustedCA(s)
			if d.verb != row.verb || d.state != row.state || d.pollAgain != row.looksAgain || (d.verb == refuse) != (d.detail != "") {
				t.Fatalf("decided %q, state %s, look again %t, because %q; not %q, %s, %t", d.verb, d.state, d.pollAgain, d.detail, row.verb, row.state, row.looksAgain)
			}
			if d.verb != create && d.verb != update {
				return
			}
			written := d.object.(*corev1.ConfigMap)
			if !maps.Equal(written.Data, map[string]string{"ca.crt": row.source.Data["ca.crt"]}) || written.BinaryData != nil || !proxysecret.IsOurTrustedCA(written) {
				t.Errorf("writes %v", written)
			}
			if d.verb == update && written.ResourceVersion != "7" {
				t.Error("not the version that was read")
			}
		})
	}
}
