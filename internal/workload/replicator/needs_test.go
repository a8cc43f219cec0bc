package replicator

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pages are the pods of a namespace, as an API server lists them.
type pages struct {
	client.Reader
	of    [][]corev1.Pod
	asked int
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	at, _ := strconv.Atoi(options.Continue)
	if options.Limit != page || options.Namespace != "shop" || at != p.asked {
		return fmt.Errorf("%+v is asked for", options)
	}
	p.asked++
	pods := list.(*corev1.PodList)
	pods.Items = p.of[at]
	if at+1 < len(p.of) {
		pods.Continue = strconv.Itoa(at + 1)
	}
	return nil
}

func TestPodsOfAllPagesCount(t *testing.T) {
	refers := func(source corev1.VolumeSource) []corev1.Pod {
		return []corev1.Pod{{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: source}}}}}
	}
	p := &pages{of: [][]corev1.Pod{
		refers(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "fairlead-proxy"}}),
		{{}},
		refers(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-trusted-ca"}}}),
	}}
	got, err := needsIn(t.Context(), p, "shop")
	if err != nil || got != (needs{true, true, true}) || p.asked != 3 {
		t.Errorf("%+v, %v, after %d pages", got, err, p.asked)
	}
}

func TestEveryWayToReferToTheSecretCounts(t *testing.T) {
	env := func(name, key string) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "X"}, {Name: "Y", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key},
		}}}
	}
	from := func(name string) []corev1.EnvFromSource {
		return []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	}
	volume := func(source corev1.VolumeSource) corev1.PodSpec {
		return corev1.PodSpec{Volumes: []corev1.Volume{{}, {VolumeSource: source}}}
	}
	projected := func(name string, items ...corev1.KeyToPath) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{}, {
			Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items},
		}}}}
	}
	ours, ca := "fairlead-proxy", corev1.KeyToPath{Key: "ca.crt"}
	ephemeral := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: env(ours, "NO_PROXY")}}
	named := corev1.LocalObjectReference{Name: "fairlead-trusted-ca"}
	for name, row := range map[string]struct {
		spec corev1.PodSpec
		want needs
	}{
		"the ConfigMap by a variable":      {corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named, Key: "ca.crt"}}}}}}}, needs{trustedCA: true}},
		"the ConfigMap by envFrom":         {corev1.PodSpec{Containers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named}}}}}}, needs{trustedCA: true}},
		"the ConfigMap by a volume":        {volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named}}), needs{trustedCA: true}},
		"the ConfigMap by a projection":    {volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named}}}}}), needs{trustedCA: true}},
		"another ConfigMap":                {volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: ours}}}), needs{}},
		"nothing":                          {corev1.PodSpec{Containers: []corev1.Container{{}}}, needs{}},
		"a container's variable":           {corev1.PodSpec{Containers: []corev1.Container{{}, {Env: env(ours, "NO_PROXY")}}}, needs{secret: true}},
		"an init container's variable":     {corev1.PodSpec{InitContainers: []corev1.Container{{Env: env(ours, "NO_PROXY")}}}, needs{secret: true}},
		"an ephemeral container's":         {corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{ephemeral}}, needs{secret: true}},
		"a variable with the authorities":  {corev1.PodSpec{Containers: []corev1.Container{{Env: env(ours, "ca.crt")}}}, needs{secret: true, ca: true}},
		"a variable of another Secret":     {corev1.PodSpec{Containers: []corev1.Container{{Env: env("other", "ca.crt")}}}, needs{}},
		"envFrom":                          {corev1.PodSpec{InitContainers: []corev1.Container{{EnvFrom: from(ours)}}}, needs{secret: true}},
		"envFrom of another Secret":        {corev1.PodSpec{Containers: []corev1.Container{{EnvFrom: from("other")}}}, needs{}},
		"a volume":                         {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: ours}}), needs{secret: true, ca: true}},
		"a volume with the authorities":    {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: ours, Items: []corev1.KeyToPath{ca}}}), needs{secret: true, ca: true}},
		"a volume with another key":        {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: ours, Items: []corev1.KeyToPath{{Key: "NO_PROXY"}}}}), needs{secret: true}},
		"a volume of another Secret":       {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "other"}}), needs{}},
		"a projected volume":               {volume(projected(ours)), needs{secret: true, ca: true}},
		"a projected key":                  {volume(projected(ours, ca)), needs{secret: true, ca: true}},
		"a projection of another Secret's": {volume(projected("other", ca)), needs{}},
	} {
		var got needs
		if got.add(corev1.Pod{}, corev1.Pod{Spec: row.spec}); got != row.want {
			t.Errorf("%s: %+v, not %+v", name, got, row.want)
		}
		for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
			var got needs
			if got.add(corev1.Pod{Spec: row.spec, Status: corev1.PodStatus{Phase: phase}}); got != (needs{}) {
				t.Errorf("%s: a pod that has ended (%s) counts", name, phase)
			}
		}
	}
}

// A pod that was let in before its namespace was excluded may be stored after the first look.
func TestWhatIsUnusedForAMomentIsTakenForInUse(t *testing.T) {
	s, start := settling{}, time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		after time.Duration
		seen  needs
		want  needs
	}{
		{0, needs{}, needs{true, true, true}},
		{settleTime - 1, needs{}, needs{true, true, true}},
		{settleTime, needs{secret: true}, needs{secret: true}}, // a late pod
		{settleTime + 1, needs{}, needs{secret: true}},
		{2 * settleTime, needs{}, needs{secret: true}},
		{2*settleTime + 1, needs{}, needs{}},
	} {
		if got := s.watch("ns", start.Add(step.after), step.seen); got != step.want {
			t.Errorf("step %d: %+v, not %+v", i, got, step.want)
		}
		if again := s.nextPoll("ns", start.Add(step.after), needs{}); again != settleTime {
			t.Errorf("step %d: again in %s", i, again)
		}
	}
	s.forget("ns")
	if got := s.watch("ns", start.Add(time.Hour), needs{}); got != (needs{true, true, true}) {
		t.Error("what is excluded anew is not given its time anew")
	}
}

func TestPodsThatReferToItForLongAreAskedForSeldomUntilOneGoes(t *testing.T) {
	s, start := settling{}, time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		after time.Duration
		seen  needs
		again time.Duration
	}{
		{0, needs{secret: true, ca: true}, settleTime},
		{100 * time.Minute, needs{secret: true, ca: true}, 10 * time.Minute},
		{1000 * time.Hour, needs{secret: true, ca: true}, longestLook},
		{1001 * time.Hour, needs{secret: true}, settleTime},
	} {
		if again := s.nextPoll("ns", start.Add(step.after), step.seen); again != step.again {
			t.Errorf("step %d: again in %s, not %s", i, again, step.again)
		}
	}
}

// A bundle goes from all namespaces at once. Nothing urges: certificates are no secret.
func TestAnHourOfABundleThatGoesTakesFewLists(t *testing.T) {
	in, out := secretOf(settings("http://p:1")), secretOf(withKey(settings("http://p:1"), "ca.crt", "PEM"))
	for name, row := range map[string]struct {
		s    state
		seen needs
		most int
	}{
		"the Secret's, in use":  {state{source: readSource(in), copy: out}, needs{secret: true, ca: true}, 2},
		"the ConfigMap, in use": {state{source: readSource(in), copy: in, trustedCA: trustedCA{copy: bundleOf("PEM")}}, needs{secret: true, trustedCA: true}, 2},
		"the ConfigMap, unused": {state{source: readSource(in), copy: in, trustedCA: trustedCA{copy: bundleOf("PEM")}}, needs{secret: true}, 2},
		"the password, in use":  {state{source: readSource(in), copy: in, excluded: true}, needs{secret: true}, 40},
	} {
		var looks settling
		lists := 0
		for at := changed; at.Before(changed.Add(time.Hour)); lists++ {
			row.s.inUse = looks.watch("ns", at, row.seen)
			at = at.Add(looks.nextPoll("ns", at, stillNeeded(row.s, row.seen)))
			if d := decideTrustedCA(row.s); d.verb == remove {
				lists++
				break
			}
		}
		if lists == 0 || lists > row.most {
			t.Errorf("%s: %d lists of pods", name, lists)
		}
	}
}
