package replicator

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

var (
	changed = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) // the source's data
	now     = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
)

func settings(url string) map[string][]byte {
	return map[string][]byte{
		"HTTP_PROXY": []byte(url), "http_proxy": []byte(url), "HTTPS_PROXY": []byte(url), "https_proxy": []byte(url),
		"NO_PROXY": []byte("localhost"), "no_proxy": []byte("localhost"),
	}
}

func blank() map[string][]byte {
	data := map[string][]byte{}
	for key := range settings("") {
		data[key] = []byte{}
	}
	return data
}

func withKey(data map[string][]byte, key, value string) map[string][]byte {
	data = maps.Clone(data)
	data[key] = []byte(value)
	return data
}

func withoutKey(data map[string][]byte, key string) map[string][]byte {
	data = maps.Clone(data)
	delete(data, key)
	return data
}

func secretOf(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: proxysecret.Name, CreationTimestamp: metav1.NewTime(changed),
			Labels:      map[string]string{render.SecretLabel: proxysecret.Role},
			Annotations: map[string]string{proxysecret.ChangedAtAnnotation: changed.Format(time.RFC3339)},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

func changedCopy(change func(*corev1.Secret)) *corev1.Secret {
	secret := secretOf(settings("http://p:1"))
	change(secret)
	return secret
}

func TestTheDecisionForANamespace(t *testing.T) {
	good, old := settings("http://p:1"), settings("http://old:1")
	inUse := needs{secret: true, ca: true}
	for name, row := range map[string]struct {
		source     *corev1.Secret
		copy       *corev1.Secret
		excluded   bool
		ending     bool
		inUse      needs
		bundle     string // of the ConfigMap, which came after the Secret's key
		verb       string
		state      string
		data       map[string][]byte // that is written
		changedAt  time.Time         // that is written
		looksAgain bool
	}{
		"a new namespace":                    {source: secretOf(good), verb: create, state: stateCurrent, data: good, changedAt: changed},
		"nothing is wrong":                   {source: secretOf(good), copy: secretOf(good), state: stateCurrent},
		"another password":                   {source: secretOf(good), copy: secretOf(old), verb: update, state: stateCurrent, data: good, changedAt: now},
		"Direct blanks the values":           {source: secretOf(blank()), copy: secretOf(good), verb: update, state: stateCurrent, data: blank(), changedAt: now},
		"a key was taken out of the copy":    {source: secretOf(good), copy: secretOf(withoutKey(good, "no_proxy")), verb: update, state: stateCurrent, data: good, changedAt: now},
		"a blank key was taken out":          {source: secretOf(blank()), copy: secretOf(withoutKey(blank(), "no_proxy")), verb: update, state: stateCurrent, data: blank(), changedAt: now},
		"a key was put into the copy":        {source: secretOf(good), copy: secretOf(withKey(good, "x", "y")), verb: update, state: stateCurrent, data: good, changedAt: now},
		"a foreign key in the source":        {source: secretOf(withKey(good, "x", "y")), copy: secretOf(good), state: stateCurrent},
		"the copy's annotation is gone":      {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Annotations = nil }), verb: update, state: stateCurrent, data: good, changedAt: changed},
		"somebody else's Secret":             {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Labels = nil }), verb: refuse, state: stateNameTaken},
		"another role's Secret":              {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Labels[render.SecretLabel] = "cluster-values" }), verb: refuse, state: stateNameTaken},
		"our label on another type":          {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Type = "example.com/x" }), verb: refuse, state: stateNameTaken},
		"somebody else's, and no source":     {copy: changedCopy(func(s *corev1.Secret) { s.Labels = nil }), verb: refuse, state: stateNameTaken},
		"immutable and right":                {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Immutable = ptr.To(true) }), state: stateCurrent},
		"immutable and wrong":                {source: secretOf(old), copy: changedCopy(func(s *corev1.Secret) { s.Immutable = ptr.To(true) }), verb: refuse, state: stateImmutable},
		"a namespace that ends":              {source: secretOf(good), ending: true, state: stateTerminating},
		"a namespace that ends, excluded":    {source: secretOf(good), copy: secretOf(old), ending: true, excluded: true, state: stateTerminating},
		"an excluded namespace":              {source: secretOf(good), excluded: true, state: stateExcluded},
		"excluded, and somebody else's":      {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Labels = nil }), excluded: true, state: stateExcluded},
		"excluded, and of another type":      {source: secretOf(good), copy: changedCopy(func(s *corev1.Secret) { s.Type = "example.com/x" }), excluded: true, state: stateExcluded},
		"newly excluded":                     {source: secretOf(good), copy: secretOf(good), excluded: true, verb: remove, state: stateExcluded},
		"newly excluded, in use":             {source: secretOf(good), copy: secretOf(good), excluded: true, inUse: inUse, state: stateInUse, looksAgain: true},
		"newly excluded, in use and wrong":   {source: secretOf(good), copy: secretOf(old), excluded: true, inUse: inUse, verb: update, state: stateInUse, data: good, changedAt: now, looksAgain: true},
		"no source":                          {copy: secretOf(good), state: stateSourceMissing},
		"no source, a new namespace":         {state: stateSourceMissing},
		"no source, newly excluded":          {copy: secretOf(good), excluded: true, state: stateSourceMissing},
		"the source lacks a key":             {source: secretOf(withoutKey(old, "https_proxy")), copy: secretOf(good), state: stateSourceInvalid},
		"the source lacks NO_PROXY":          {source: secretOf(withKey(old, "NO_PROXY", "")), copy: secretOf(good), state: stateSourceInvalid},
		"the source lacks no_proxy":          {source: secretOf(withKey(old, "no_proxy", "")), copy: secretOf(good), state: stateSourceInvalid},
		"the source's NO_PROXY has no entry": {source: secretOf(withKey(old, "no_proxy", " ,\n")), copy: secretOf(good), state: stateSourceInvalid},
		"the source has no data":             {source: secretOf(nil), copy: secretOf(good), state: stateSourceInvalid},
		"a CA comes":                         {source: secretOf(withKey(good, "ca.crt", "PEM")), copy: secretOf(good), verb: update, state: stateCurrent, data: withKey(good, "ca.crt", "PEM"), changedAt: now},
		"the CA goes":                        {source: secretOf(good), copy: secretOf(withKey(good, "ca.crt", "PEM")), verb: update, state: stateCurrent, data: good, changedAt: now},
		"the CA goes, in use":                {source: secretOf(good), copy: secretOf(withKey(good, "ca.crt", "PEM")), inUse: inUse, state: stateInUse, looksAgain: true},
		"the CA goes, its variables in use": {
			source: secretOf(good), copy: secretOf(withKey(good, "ca.crt", "PEM")), inUse: needs{secret: true}, verb: update, state: stateCurrent, data: good, changedAt: now,
		},
		"the CA went into a ConfigMap, in use": {source: secretOf(good), copy: secretOf(withKey(good, "ca.crt", "PEM")), inUse: inUse, bundle: "PEM", state: stateInUse, looksAgain: true},
		"the CA went into a ConfigMap, in use, and there is another": {
			source: secretOf(good), copy: secretOf(withKey(good, "ca.crt", "PEM")), inUse: inUse, bundle: "new", verb: update, state: stateInUse, data: withKey(good, "ca.crt", "new"), changedAt: now, looksAgain: true,
		},
		"the CA goes, in use, and another password": {
			source: secretOf(good), copy: secretOf(withKey(old, "ca.crt", "PEM")), inUse: inUse, verb: update, state: stateInUse, data: withKey(good, "ca.crt", "PEM"), changedAt: now, looksAgain: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := state{namespace: "ns", terminating: row.ending, excluded: row.excluded, source: readSource(row.source), copy: row.copy, inUse: row.inUse, now: now}
			if row.bundle != "" {
				s.trustedCA.source = bundleOf(row.bundle).Data
			}
			d := decide(s)
			if d.verb != row.verb || d.state != row.state || d.pollAgain != row.looksAgain {
				t.Fatalf("decided %q, state %s, look again %t; not %q, %s, %t", d.verb, d.state, d.pollAgain, row.verb, row.state, row.looksAgain)
			}
			if d.verb == refuse && d.detail == "" {
				t.Error("a refusal without a reason")
			}
			if row.data == nil {
				return
			}
			written := d.object.(*corev1.Secret)
			if !proxysecret.Equal(written.Data, row.data) {
				t.Errorf("writes %q, not %q", written.Data, row.data)
			}
			if got, want := written.Annotations[proxysecret.ChangedAtAnnotation], row.changedAt.Format(time.RFC3339); got != want {
				t.Errorf("says that it changed at %s, not %s", got, want)
			}
			if !proxysecret.IsOurs(written) || written.Type != corev1.SecretTypeOpaque {
				t.Error("what is written would not be ours")
			}
		})
	}
}

func TestAnUpdateIsOfTheVersionThatWasRead(t *testing.T) {
	stale := changedCopy(func(s *corev1.Secret) { s.ResourceVersion, s.Annotations["theirs"] = "7", "kept" })
	d := decide(state{namespace: "ns", source: readSource(secretOf(settings("http://new:1"))), copy: stale, now: now})
	if d.object.GetResourceVersion() != "7" || d.object.GetAnnotations()["theirs"] != "kept" {
		t.Errorf("writes version %q with annotations %v", d.object.GetResourceVersion(), d.object.GetAnnotations())
	}
	if string(stale.Data["HTTP_PROXY"]) != "http://p:1" {
		t.Error("the cache's object was changed")
	}
}

// The source's time is the API server's.
func TestACopyNeverSaysThatItChangedBeforeItsSource(t *testing.T) {
	slow := changed.Add(-time.Hour)
	d := decide(state{namespace: "ns", source: readSource(secretOf(settings("http://new:1"))), copy: secretOf(settings("http://p:1")), now: slow})
	if got := d.object.GetAnnotations()[proxysecret.ChangedAtAnnotation]; got != changed.Format(time.RFC3339) {
		t.Errorf("it changed at %s", got)
	}
}

func TestPodsAreAskedForOnlyWhereSomethingIsTakenAway(t *testing.T) {
	good := settings("http://p:1")
	for name, row := range map[string]struct {
		s    state
		asks bool
	}{
		"a right copy":            {state{source: readSource(secretOf(good)), copy: secretOf(good)}, false},
		"a wrong copy":            {state{source: readSource(secretOf(good)), copy: secretOf(nil)}, false},
		"excluded, without copy":  {state{source: readSource(secretOf(good)), excluded: true}, false},
		"excluded, with copy":     {state{source: readSource(secretOf(good)), excluded: true, copy: secretOf(good)}, true},
		"excluded, without ours":  {state{source: readSource(secretOf(good)), excluded: true, copy: &corev1.Secret{}}, false},
		"excluded, another type":  {state{source: readSource(secretOf(good)), excluded: true, copy: changedCopy(func(s *corev1.Secret) { s.Type = "x" })}, false},
		"a CA that goes":          {state{source: readSource(secretOf(good)), copy: secretOf(withKey(good, "ca.crt", "PEM"))}, true},
		"a bundle that goes":      {state{source: readSource(secretOf(good)), copy: secretOf(good), trustedCA: trustedCA{copy: bundleOf("PEM")}}, true},
		"a bundle that is theirs": {state{source: readSource(secretOf(good)), copy: secretOf(good), trustedCA: trustedCA{copy: &corev1.ConfigMap{}}}, false},
		"a bundle that stays":     {state{source: readSource(secretOf(good)), copy: secretOf(good), trustedCA: trustedCA{source: bundleOf("new").Data, copy: bundleOf("PEM")}}, false},
		"a CA without the source": {state{source: readSource(nil), copy: secretOf(withKey(good, "ca.crt", "PEM"))}, false},
	} {
		if got := mayRemove(row.s); got != row.asks {
			t.Errorf("%s: asks for pods: %t", name, got)
		}
	}
}
