package policies_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const (
	caVolume = "fairlead-trusted-ca"
	caFolder = "/etc/fairlead/ca"
	caFile   = caFolder + "/ca.crt"
)

var (
	caVariables    = []string{"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"}
	proxyVariables = []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
)

// caCluster is a control plane where both policies are installed.
type caCluster struct {
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
	pods    string // a namespace
}

// startCA starts one and returns when a pod gets what both policies give.
func startCA(t *testing.T, engine string, authority *machine.Authority) caCluster {
	t.Helper()
	e, err := startEngine(t.Context(), engine)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), e.cp, policies.Values(), map[string]any{
		"engine": engine, "trustedCA": map[string]any{"enabled": true, "bundle": string(authority.PEM())},
	}))
	c := caCluster{cp: e.cp, clients: e.clients, pods: controlplanetest.Namespace(t, e.cp)}
	c.awaitBoth(t, "both policies", caPod(caContainer("probe")))
	return c
}

// awaitBoth returns a pod, of a dry run, once both policies have given it their variables.
func (c caCluster) awaitBoth(t *testing.T, what string, pod *corev1.Pod) (stored *corev1.Pod) {
	t.Helper()
	controlplanetest.Await(t, what, func(ctx context.Context) (_ bool, err error) {
		stored, err = c.create(ctx, pod, metav1.DryRunAll)
		return err == nil && len(stored.Spec.Containers[0].Env) == len(caVariables)+len(proxyVariables), err
	})
	return stored
}

func (c caCluster) create(ctx context.Context, pod *corev1.Pod, dryRun ...string) (*corev1.Pod, error) {
	return c.clients.CoreV1().Pods(c.pods).Create(ctx, pod, metav1.CreateOptions{DryRun: dryRun})
}

func newAuthority(t *testing.T) *machine.Authority {
	t.Helper()
	authority, err := machine.NewAuthority("Example Corp Root")
	controlplanetest.Require(t, err)
	return authority
}

// caPod returns a pod without a service account token, so that it has no volume of its own.
func caPod(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"},
		Spec:       corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: containers},
	}
}

func caContainer(name string) corev1.Container { return corev1.Container{Name: name, Image: "image"} }

func ourCA() corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: policies.TrustedCA}, Items: caItems,
	}}
}

var caItems = []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}

func ourTrustBundle() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
		ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new(policies.TrustedCA), Path: "ca.crt"},
	}}}}
}

// caRow is one of testdata/decisions/inject-trusted-ca.md.
type caRow struct {
	number string
	has    struct {
		Labels         map[string]string `json:"labels"`
		Annotations    map[string]string `json:"annotations"`
		corev1.PodSpec `json:",inline"`
	}
	missing map[string][]string // of the five, by container; with all of them, nothing at all is done
	moved   bool                // the pod's own volume becomes today's
}

var caTableRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(.*?)` \\| ([^|]+) \\|")

func caRows() (rows []caRow, err error) {
	table, err := cellsOf("inject-trusted-ca", caTableRow)
	if err != nil {
		return nil, err
	}
	for _, cells := range table {
		r := caRow{number: cells[1], missing: map[string][]string{}}
		if err := yaml.UnmarshalStrict([]byte(cells[2]), &r.has); err != nil {
			return nil, fmt.Errorf("row %s: %w", r.number, err)
		}
		for part := range strings.SplitSeq(cells[3], ", ") {
			name, gets, _ := strings.Cut(part, ": ")
			but, isBut := strings.CutPrefix(gets, "not ")
			switch {
			case part == "moved":
				r.moved = true
			case gets == "all":
				r.missing[name] = nil
			case gets == "nothing":
				r.missing[name] = caVariables
			case isBut:
				r.missing[name] = strings.Fields(but)
			default:
				return nil, fmt.Errorf("row %s: what is %q", r.number, part)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (r caRow) pod() *corev1.Pod {
	pod := caPod()
	pod.Labels, pod.Annotations, pod.Spec = r.has.Labels, r.has.Annotations, *r.has.DeepCopy()
	pod.Spec.AutomountServiceAccountToken = new(bool)
	for _, one := range everyContainer(&pod.Spec) {
		one.Image = "image"
	}
	return pod
}

func TestTheCorporateCAUnderBothEngines(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it has a control plane of its own, and much of its time is waiting
	for _, engine := range []string{withKyverno, native} {
		t.Run(engine, func(t *testing.T) {
			c := startCA(t, engine, newAuthority(t))
			t.Run("EachContainerGetsWhatItLacks", c.testRows)
			t.Run("NoContainerTrustsAFileThatNobodyWrites", c.testUnserved)
			t.Run("AnEphemeralContainerGetsItWhereThePodHasTheVolume", c.testEphemeral)
			t.Run("TheVariablesCanBeChosen", func(t *testing.T) { c.testChosen(t, engine) }) // it changes the policy
		})
	}
}

// The replicator, which nobody runs here, has not written in this namespace. By the label, it knows that it is to.
func (c caCluster) testUnserved(t *testing.T) {
	namespace, err := c.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "unserved-"}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	c.pods = namespace.Name
	controlplanetest.Await(t, "the pod", func(ctx context.Context) (bool, error) {
		pod, err := c.create(ctx, caPod(caContainer("c")), metav1.DryRunAll)
		if err != nil {
			return false, err
		}
		if n := len(pod.Spec.Containers[0].Env); n != len(proxyVariables) || len(pod.Spec.Volumes) != 0 {
			t.Errorf("%d variables, volumes %v", n, pod.Spec.Volumes)
		}
		if pod.Labels[policies.TrustedCALabel] != "configmap" {
			t.Errorf("labels %v", pod.Labels)
		}
		return true, nil
	})
}

func (c caCluster) testRows(t *testing.T) {
	for _, row := range must(t, caRows) {
		t.Run(row.number, func(t *testing.T) {
			given := row.pod()
			stored, err := c.create(t.Context(), row.pod())
			controlplanetest.Require(t, err)
			wanted := false
			before := slices.Concat(given.Spec.InitContainers, given.Spec.Containers)
			for i, got := range slices.Concat(stored.Spec.InitContainers, stored.Spec.Containers) {
				missing, known := row.missing[got.Name]
				if !known {
					t.Fatalf("the row does not say what %s gets", got.Name)
				}
				wanted = wanted || len(missing) < len(caVariables)
				checkCA(t, got, before[i], missing)
			}
			volumes := slices.Clone(given.Spec.Volumes)
			if row.moved {
				volumes = nil
			}
			if label := stored.Labels[policies.TrustedCALabel]; (label != "") != wanted {
				t.Errorf("the label for the replicator is %q", label)
			}
			if wanted && !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == caVolume }) {
				volumes = append(volumes, corev1.Volume{Name: caVolume, VolumeSource: ourCA()})
			}
			if diff := cmp.Diff(volumes, withoutDefaults(stored.Spec.Volumes), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			// As when somebody makes a pod from the YAML of another, or a webhook is asked twice.
			again := caPod()
			again.Labels, again.Annotations, again.Spec = stored.Labels, stored.Annotations, *stored.Spec.DeepCopy()
			again, err = c.create(t.Context(), again)
			controlplanetest.Require(t, err)
			if diff := cmp.Diff(stored.Spec, again.Spec); diff != "" {
				t.Errorf("made again (-first +second):\n%s", diff)
			}
		})
	}
}

// checkCA compares what a container got. Of its environment, what the other policy gives is left out, but that it is there once.
func checkCA(t *testing.T, got, given corev1.Container, missing []string) {
	t.Helper()
	mounts := slices.DeleteFunc(slices.Clone(given.VolumeMounts), func(m corev1.VolumeMount) bool { return m.MountPath == caFolder && m.Name == caVolume })
	env := slices.DeleteFunc(slices.Clone(given.Env), func(e corev1.EnvVar) bool { return e.Value == caFile })
	if len(missing) < len(caVariables) {
		mounts = append(mounts, corev1.VolumeMount{Name: caVolume, MountPath: caFolder, ReadOnly: true})
	}
	for _, name := range caVariables {
		if !slices.Contains(missing, name) {
			env = append(env, corev1.EnvVar{Name: name, Value: caFile})
		}
	}
	var kept []corev1.EnvVar
	others := map[string]int{}
	for _, e := range got.Env {
		switch {
		case slices.Contains(proxyVariables, e.Name):
			others[e.Name]++
		case e != corev1.EnvVar{Name: "ca.crt"}: // which hides the Secret's key
			kept = append(kept, e)
		}
	}
	for _, name := range proxyVariables {
		if n := others[name]; n > 1 || n == 0 && len(missing) < len(caVariables) && len(given.EnvFrom) == 0 {
			t.Errorf("%s has %d %s", given.Name, n, name)
		}
	}
	sources := slices.DeleteFunc(slices.Clone(got.EnvFrom), ofOurSecret)
	if diff := cmp.Diff(byName(env), byName(kept), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("env of %s (-want +got):\n%s", given.Name, diff)
	}
	if diff := cmp.Diff(mounts, got.VolumeMounts, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("mounts of %s (-want +got):\n%s", given.Name, diff)
	}
	if diff := cmp.Diff(given.EnvFrom, sources, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("envFrom of %s (-want +got):\n%s", given.Name, diff)
	}
}

// byName sorts an environment, and leaves out what the API server fills in.
func byName(env []corev1.EnvVar) []corev1.EnvVar {
	env = slices.Clone(env)
	for i := range env {
		if from := env[i].ValueFrom; from != nil && from.FieldRef != nil {
			env[i].ValueFrom = from.DeepCopy()
			env[i].ValueFrom.FieldRef.APIVersion = ""
		}
	}
	slices.SortStableFunc(env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}

// withoutDefaults removes the defaults that the API server adds.
func withoutDefaults(volumes []corev1.Volume) []corev1.Volume {
	all := (&corev1.PodSpec{Volumes: volumes}).DeepCopy().Volumes
	for _, v := range all {
		if v.Secret != nil {
			v.Secret.DefaultMode = nil
		}
		if v.ConfigMap != nil {
			v.ConfigMap.DefaultMode = nil
		}
	}
	return all
}

func (c caCluster) testEphemeral(t *testing.T) {
	with, err := c.create(t.Context(), caPod(caContainer("c")))
	controlplanetest.Require(t, err)
	checkCA(t, c.debug(t, with), caContainer("debug"), nil)

	old := caPod(caContainer("c"))
	old.Annotations = exclude()
	without, err := c.create(t.Context(), old)
	controlplanetest.Require(t, err)
	without.Annotations = nil
	without, err = c.clients.CoreV1().Pods(c.pods).Update(t.Context(), without, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	debug := c.debug(t, without)
	checkCA(t, debug, caContainer("debug"), caVariables)
	if len(debug.Env) != len(proxyVariables) {
		t.Errorf("an ephemeral container of a pod without the volume has %d variables, want the proxy's", len(debug.Env))
	}
}

// debug adds an ephemeral container and returns what became of it.
func (c caCluster) debug(t *testing.T, pod *corev1.Pod) corev1.Container {
	t.Helper()
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Image: "image", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullAlways,
	}}}
	pod, err := c.clients.CoreV1().Pods(c.pods).UpdateEphemeralContainers(t.Context(), pod.Name, pod, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	return corev1.Container(pod.Spec.EphemeralContainers[0].EphemeralContainerCommon)
}
