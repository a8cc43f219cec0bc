package policies_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
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
	options := controlplane.Options{}
	if engine == "Kyverno" {
		options.Content = kyverno.Content
	}
	cp := controlplanetest.Start(t, options)
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	if engine == "Kyverno" {
		_, err := kyverno.Start(t.Context(), cp, kyverno.Options{})
		controlplanetest.Require(t, err)
	}
	controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), map[string]any{
		"engine": engine, "trustedCA": map[string]any{"enabled": true, "bundle": string(authority.PEM())},
	}))
	c := caCluster{cp: cp, clients: controlplanetest.Clients(t, cp), pods: controlplanetest.Namespace(t, cp)}
	controlplanetest.Await(t, "both policies", func(ctx context.Context) (bool, error) {
		pod, err := c.create(ctx, caPod(caContainer("probe")), metav1.DryRunAll)
		return err == nil && len(pod.Spec.Containers[0].Env) == len(caVariables)+len(proxyVariables), err
	})
	return c
}

func (c caCluster) create(ctx context.Context, pod *corev1.Pod, dryRun ...string) (*corev1.Pod, error) {
	return c.clients.CoreV1().Pods(c.pods).Create(ctx, pod, metav1.CreateOptions{DryRun: dryRun})
}

func newAuthority(t *testing.T) *machine.Authority {
	t.Helper()
	authority, err := machine.NewAuthority("Example Corp Root")
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// caPod has no service account token, so that it has no volume but what a row gives it.
func caPod(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"},
		Spec:       corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: containers},
	}
}

func caContainer(name string, change ...func(*corev1.Container)) corev1.Container {
	c := corev1.Container{Name: name, Image: "image"}
	for _, change := range change {
		change(&c)
	}
	return c
}

func setting(names ...string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		for _, name := range names {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "/own"})
		}
	}
}

func settingFrom(secret string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}},
		})
	}
}

func mounting(volume, path string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: path})
	}
}

func caVolumeOf(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: caVolume, VolumeSource: source})
	}
}

var caItems = []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}

func ourCA() corev1.VolumeSource { return caConfigMap(policies.TrustedCA, caItems) }

func caConfigMap(name string, items []corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items}}
}

// ourSecret is how the policy mounted it before there was a ConfigMap.
func ourSecret(items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: policies.Secret, Items: items}}
}

func ourTrustBundle() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
		ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new(policies.TrustedCA), Path: "ca.crt"},
	}}}}
}

func emptyDir() corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}

// Each row: a pod of one container, and the variables that it gets; with any, it has the mount, and the pod the volume.
var caRows = []struct {
	name      string
	container corev1.Container
	pod       func(*corev1.Pod)
	missing   []string // of the five; all: nothing at all is done
	mounts    []string // that the container has besides
	moved     bool     // the pod's own volume becomes today's
}{
	{name: "nothing of its own", container: caContainer("c")},
	{name: "an empty env", container: caContainer("c", func(c *corev1.Container) { c.Env = []corev1.EnvVar{} })},
	{name: "SSL_CERT_FILE, which curl reads too", container: caContainer("c", setting("SSL_CERT_FILE")), missing: []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE"}},
	{name: "SSL_CERT_DIR, which curl reads too", container: caContainer("c", setting("SSL_CERT_DIR")), missing: []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE"}},
	{name: "REQUESTS_CA_BUNDLE", container: caContainer("c", setting("REQUESTS_CA_BUNDLE")), missing: []string{"REQUESTS_CA_BUNDLE"}},
	{name: "CURL_CA_BUNDLE, which requests reads too", container: caContainer("c", setting("CURL_CA_BUNDLE")), missing: []string{"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}},
	{name: "NODE_EXTRA_CA_CERTS", container: caContainer("c", setting("NODE_EXTRA_CA_CERTS")), missing: []string{"NODE_EXTRA_CA_CERTS"}},
	{name: "GIT_SSL_CAINFO", container: caContainer("c", setting("GIT_SSL_CAINFO")), missing: []string{"GIT_SSL_CAINFO"}},
	{name: "GIT_SSL_CAPATH", container: caContainer("c", setting("GIT_SSL_CAPATH")), missing: []string{"GIT_SSL_CAINFO"}},
	{name: "all of them", container: caContainer("c", setting(caVariables...)), missing: caVariables},
	{name: "another case, which nobody reads", container: caContainer("c", setting("ssl_cert_file"))},
	{name: "an empty value", container: caContainer("c", func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "GIT_SSL_CAINFO"}} }), missing: []string{"GIT_SSL_CAINFO"}},
	{name: "a reference", container: caContainer("c", func(c *corev1.Container) {
		c.Env = []corev1.EnvVar{{Name: "GIT_SSL_CAINFO", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
	}), missing: []string{"GIT_SSL_CAINFO"}},
	{name: "one that is there twice", container: caContainer("c", setting("GIT_SSL_CAINFO", "GIT_SSL_CAINFO")), missing: []string{"GIT_SSL_CAINFO"}},
	{name: "envFrom of certificates", container: caContainer("c", settingFrom("my-certs")), missing: caVariables},
	{name: "envFrom of a CA", container: caContainer("c", settingFrom("corp-ca")), missing: caVariables},
	{name: "envFrom of something else", container: caContainer("c", settingFrom("cache"))},

	{name: "envFrom of certificates with a prefix", container: caContainer("c", settingFrom("my-certs"), func(c *corev1.Container) { c.EnvFrom[0].Prefix = "SSL_" }), missing: caVariables},
	{name: "the network of the node and a read-only root", container: caContainer("c", func(c *corev1.Container) {
		c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	}), pod: both(hostNetwork, annotated("include"))},
	{name: "the network of the node, without asking", container: caContainer("c"), pod: hostNetwork, missing: caVariables},

	{name: "our volume", container: caContainer("c"), pod: caVolumeOf(ourCA())},
	{name: "our volume, mounted", container: caContainer("c", func(c *corev1.Container) {
		c.VolumeMounts = []corev1.VolumeMount{{Name: caVolume, MountPath: caFolder, ReadOnly: true}}
	}), pod: caVolumeOf(ourCA())},
	{name: "our volume, mounted elsewhere too", container: caContainer("c", mounting(caVolume, "/other")), pod: caVolumeOf(ourCA()), mounts: []string{"/other"}},
	{name: "our ConfigMap, all of it", container: caContainer("c"), pod: caVolumeOf(caConfigMap(policies.TrustedCA, nil))},
	{name: "our ConfigMap, the file elsewhere", container: caContainer("c"), pod: caVolumeOf(caConfigMap(policies.TrustedCA, []corev1.KeyToPath{{Key: "ca.crt", Path: "other.crt"}})), missing: caVariables},
	{name: "another ConfigMap", container: caContainer("c"), pod: caVolumeOf(caConfigMap("other", caItems)), missing: caVariables},
	{name: "the Secret of before, whose key may be gone", container: caContainer("c"), pod: caVolumeOf(ourSecret(caItems...)), moved: true},
	{name: "the same, of a pod that has all the rest", container: caContainer("c", mounting(caVolume, caFolder), func(c *corev1.Container) {
		c.VolumeMounts[0].ReadOnly = true
		for _, name := range caVariables {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: caFile})
		}
	}), pod: caVolumeOf(ourSecret(caItems...)), moved: true},
	{name: "our Secret, all of it", container: caContainer("c"), pod: caVolumeOf(ourSecret()), moved: true},
	{name: "our Secret, the file elsewhere", container: caContainer("c"), pod: caVolumeOf(ourSecret(corev1.KeyToPath{Key: "ca.crt", Path: "other.crt"})), missing: caVariables},
	{name: "our ClusterTrustBundle", container: caContainer("c"), pod: caVolumeOf(ourTrustBundle()), moved: true},
	{name: "a volume of that name and another Secret", container: caContainer("c"), pod: caVolumeOf(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "other"}}), missing: caVariables},
	{name: "a volume of that name and another kind", container: caContainer("c"), pod: caVolumeOf(emptyDir()), missing: caVariables},
	{name: "a projected volume of that name, with our Secret", container: caContainer("c"), pod: caVolumeOf(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32), Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: policies.Secret}}}},
	}}), missing: caVariables},
	{name: "another volume", container: caContainer("c", mounting("data", "/data")), pod: withData, mounts: []string{"/data"}},
	{name: "something in the folder's place", container: caContainer("c", mounting("data", caFolder)), pod: withData, missing: caVariables, mounts: []string{caFolder}},
	{name: "the same with a slash", container: caContainer("c", mounting("data", caFolder+"/")), pod: withData, missing: caVariables, mounts: []string{caFolder + "/"}},
	{name: "something below it", container: caContainer("c", mounting("data", caFolder+"/more")), pod: withData, missing: caVariables, mounts: []string{caFolder + "/more"}},
	{name: "something above it", container: caContainer("c", mounting("data", "/etc")), pod: withData, missing: caVariables, mounts: []string{"/etc"}},
	{name: "something above it with a slash", container: caContainer("c", mounting("data", "/etc/")), pod: withData, missing: caVariables, mounts: []string{"/etc/"}},
	{name: "something beside it", container: caContainer("c", mounting("data", "/etc/fairlead/calendar")), pod: withData, mounts: []string{"/etc/fairlead/calendar"}},

	{name: "opted out by annotation", container: caContainer("c"), pod: func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"policies.kyverno.io/inject-proxy-env": "exclude"}
	}, missing: caVariables},
	{name: "opted out by label", container: caContainer("c"), pod: func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"policies.kyverno.io/inject-proxy-env": "exclude"}
	}, missing: caVariables},
	{name: "core Cluster API", container: caContainer("c"), pod: func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"cluster.x-k8s.io/provider": "cluster-api"}
	}, missing: caVariables},
}

func withData(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: emptyDir()})
}

func TestTheCorporateCAUnderBothEngines(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it has a control plane of its own, and much of its time is waiting
	for _, engine := range []string{"Kyverno", "Native"} {
		t.Run(engine, func(t *testing.T) {
			c := startCA(t, engine, newAuthority(t))
			t.Run("EachContainerGetsWhatItLacks", c.testRows)
			t.Run("NoContainerTrustsAFileThatNobodyWrites", c.testUnserved)
			t.Run("InitContainersAndSidecarsToo", c.testInitContainers)
			t.Run("APodThatHasItAllStaysAsItIs", c.testAgain)
			t.Run("AnEphemeralContainerGetsItWhereThePodHasTheVolume", c.testEphemeral)
			t.Run("AnotherContainerIsNotHeldBack", c.testOccupied)
			if engine == "Kyverno" {
				t.Run("BothPoliciesCostOneAdmissionReview", c.testOneReview)
			}
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
	for _, row := range caRows {
		t.Run(row.name, func(t *testing.T) {
			pod := caPod(row.container)
			if row.pod != nil {
				row.pod(pod)
			}
			given := pod.DeepCopy()
			stored, err := c.create(t.Context(), pod)
			if err != nil {
				t.Fatal(err)
			}
			wanted := len(row.missing) < len(caVariables)
			checkCA(t, stored.Spec.Containers[0], given.Spec.Containers[0], row.missing, row.mounts)
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
		})
	}
}

// checkCA compares what a container got. Of its environment, what the other policy gives is left out.
func checkCA(t *testing.T, got, given corev1.Container, missing, others []string) {
	t.Helper()
	mounts := slices.DeleteFunc(slices.Clone(given.VolumeMounts), func(m corev1.VolumeMount) bool { return m.MountPath == caFolder && m.Name == caVolume })
	if len(mounts) != len(others) {
		t.Fatalf("the row is wrong: %v", mounts)
	}
	env := slices.DeleteFunc(slices.Clone(given.Env), func(e corev1.EnvVar) bool { return e.Value == caFile })
	if len(missing) < len(caVariables) {
		mounts = append(mounts, corev1.VolumeMount{Name: caVolume, MountPath: caFolder, ReadOnly: true})
	}
	for _, name := range caVariables {
		if !slices.Contains(missing, name) {
			env = append(env, corev1.EnvVar{Name: name, Value: caFile})
		}
	}
	kept := slices.DeleteFunc(slices.Clone(got.Env), func(e corev1.EnvVar) bool {
		return slices.Contains(proxyVariables, e.Name) || e == corev1.EnvVar{Name: "ca.crt"} // hides the Secret's key
	})
	sources := slices.DeleteFunc(slices.Clone(got.EnvFrom), func(from corev1.EnvFromSource) bool {
		return from.SecretRef != nil && from.SecretRef.Name == policies.Secret
	})
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

// withoutDefaults is what somebody wrote.
func withoutDefaults(volumes []corev1.Volume) []corev1.Volume {
	var all []corev1.Volume
	for _, v := range volumes {
		v = *v.DeepCopy()
		switch {
		case v.Secret != nil:
			v.Secret.DefaultMode = nil
		case v.ConfigMap != nil:
			v.ConfigMap.DefaultMode = nil
		}
		all = append(all, v)
	}
	return all
}

func (c caCluster) testInitContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := caPod(caContainer("first"), caContainer("second", setting("SSL_CERT_FILE")))
	pod.Spec.InitContainers = []corev1.Container{
		caContainer("init", setting("GIT_SSL_CAINFO")),
		caContainer("sidecar", func(c *corev1.Container) { c.RestartPolicy = &always }),
	}
	given := pod.DeepCopy()
	stored, err := c.create(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	checkCA(t, stored.Spec.Containers[0], given.Spec.Containers[0], nil, nil)
	checkCA(t, stored.Spec.Containers[1], given.Spec.Containers[1], []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE"}, nil)
	checkCA(t, stored.Spec.InitContainers[0], given.Spec.InitContainers[0], []string{"GIT_SSL_CAINFO"}, nil)
	checkCA(t, stored.Spec.InitContainers[1], given.Spec.InitContainers[1], nil, nil)
	for _, container := range append(stored.Spec.InitContainers, stored.Spec.Containers...) {
		for _, name := range proxyVariables {
			if n := count(container.Env, name); n != 1 {
				t.Errorf("%s has %d %s", container.Name, n, name)
			}
		}
	}
	if len(stored.Spec.Volumes) != 1 {
		t.Errorf("%d volumes", len(stored.Spec.Volumes))
	}
}

func count(env []corev1.EnvVar, name string) (n int) {
	for _, e := range env {
		if e.Name == name {
			n++
		}
	}
	return n
}
