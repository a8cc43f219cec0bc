package charts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// both are the charts, by name, with the folders that they link to.
var both = map[string]map[string]string{
	"fairlead": {
		"crds": "config/crd", "rbac": "config/rbac", "rollout": "config/rollout", "observe": "config/observe", "observe-machines": "config/observe-machines",
		"deliver": "config/deliver", "preflight": "config/preflight", "status-page": "config/status-page", "owner-references": "config/owner-references",
		"node-files": "policies/inject-node-files",
	},
	"fairlead-policies": {"policies": "policies"},
}

func chartFolder(name string) string { return filepath.Join(filepath.Dir(policies.Chart()), name) }

// variants are the values files of a chart's folder ci.
func variants(t *testing.T, chart string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartFolder(chart), "ci", "*-values.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	return files
}

// template renders a chart as a release of its name in namespace other.
func template(t *testing.T, chart string, given ...any) rendered {
	t.Helper()
	manifest, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder(chart), Name: chart, Namespace: "other", Values: given})
	controlplanetest.Require(t, err)
	return parse(t, manifest)
}

// metadata has the fields of a Chart.yaml that matter here.
type metadata struct {
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion"`
	Annotations map[string]string `json:"annotations"`
}

func chartFile(t *testing.T, chart string) metadata {
	t.Helper()
	var about metadata
	controlplanetest.Require(t, yaml.Unmarshal(controlplanetest.ReadFile(t, filepath.Join(chartFolder(chart), "Chart.yaml")), &about))
	return about
}

func TestHelmLintFindsNothing(t *testing.T) {
	for chart := range both {
		for _, file := range variants(t, chart) {
			t.Run(chart+"/"+filepath.Base(file), func(t *testing.T) {
				out, err := helm.Run(t.Context(), "lint", "--strict", chartFolder(chart), "--values", file)
				controlplanetest.Require(t, err)
				if strings.Contains(string(out), "[WARNING]") || strings.Contains(string(out), "[ERROR]") {
					t.Errorf("%s", out)
				}
			})
		}
	}
}

func TestEveryObjectHasTheRecommendedLabels(t *testing.T) {
	for chart := range both {
		about := chartFile(t, chart)
		for _, file := range variants(t, chart) {
			for name, object := range template(t, chart, controlplanetest.ReadFile(t, file)) {
				labels := object.GetLabels()
				for key, want := range map[string]string{
					"app.kubernetes.io/name": chart, "app.kubernetes.io/instance": chart, "app.kubernetes.io/managed-by": "Helm",
					"app.kubernetes.io/version": about.AppVersion, "helm.sh/chart": chart + "-" + about.Version,
				} {
					if labels[key] != want {
						t.Errorf("%s, %s: %s is %q", filepath.Base(file), name, key, labels[key])
					}
				}
				if namespace := object.GetNamespace(); namespace != "" && namespace != "other" {
					t.Errorf("%s, %s is in namespace %s", filepath.Base(file), name, namespace)
				}
			}
		}
	}
}

// optional are Deployments of one replica beside the one that a chart is there for.
var optional = []string{"fairlead-observe", "fairlead-deliver", "fairlead-preflight"}

// deployment returns the only rendered Deployment that is not optional.
func (r rendered) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	for _, found := range r.deployments(t) {
		if !slices.Contains(optional, found.Name) {
			return found
		}
	}
	return nil
}

func (r rendered) deployments(t *testing.T) []*appsv1.Deployment {
	t.Helper()
	var all []*appsv1.Deployment
	for name := range r {
		if strings.HasPrefix(name, "Deployment/") {
			all = append(all, as[appsv1.Deployment](t, r, name))
		}
	}
	return all
}

// What ci/all-values.yaml says is the same for the pods of either chart.
func TestAPodIsAsTheValuesSay(t *testing.T) {
	for chart := range both {
		objects := template(t, chart, controlplanetest.ReadFile(t, filepath.Join(chartFolder(chart), "ci", "all-values.yaml")))
		for _, deployment := range objects.deployments(t) {
			checkPod(t, objects, deployment)
		}
	}
}

func checkPod(t *testing.T, objects rendered, deployment *appsv1.Deployment) {
	t.Helper()
	name, replicas := deployment.Name, int32(3)
	about := map[string][]string{"NetworkPolicy/" + name: {"spec", "podSelector", "matchLabels"}, "Service/" + name + "-metrics": {"spec", "selector"}}
	if name == "fairlead-preflight" { // it has no metrics
		delete(about, "Service/"+name+"-metrics")
	}
	if slices.Contains(optional, name) {
		replicas = 1
	} else {
		about["PodDisruptionBudget/"+name] = []string{"spec", "selector", "matchLabels"}
	}
	pod := deployment.Spec.Template
	container := pod.Spec.Containers[0]
	got := map[string]any{
		"replicas": *deployment.Spec.Replicas, "image": container.Image, "pull": container.ImagePullPolicy,
		"log": strings.Contains(strings.Join(container.Args, " "), "--log-level=debug"),
		// Without it, Kyverno would have to be up for it to start.
		"left alone": pod.Labels["policies.kyverno.io/inject-proxy-env"],
	}
	want := map[string]any{
		"replicas": replicas, "log": true, "left alone": "exclude", "pull": corev1.PullAlways,
		"image": "registry.corp.example/fairlead-operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if account := objects["ServiceAccount/"+name]; name == "fairlead-replicator" && account.Object["automountServiceAccountToken"] != false {
		t.Errorf("every pod of the account %s gets its token", name)
	}
	// All that is about these pods means these pods.
	selector := deployment.Spec.Selector.MatchLabels
	for key, value := range selector {
		if pod.Labels[key] != value {
			t.Errorf("%s does not select its own pods", name)
		}
	}
	for object, path := range about {
		if diff := cmp.Diff(selector, objects.labels(t, object, path...)); diff != "" {
			t.Errorf("%s selects other pods (-Deployment +got):\n%s", object, diff)
		}
	}
	if name == "fairlead-preflight" {
		return
	}
	service := objects.labels(t, "Service/"+name+"-metrics", "metadata", "labels")
	for key, value := range objects.labels(t, "ServiceMonitor/"+name, "spec", "selector", "matchLabels") {
		if service[key] != value {
			t.Errorf("%s: the ServiceMonitor does not select the Service: %s is %q", name, key, service[key])
		}
	}
}

func (r rendered) labels(t *testing.T, name string, path ...string) map[string]string {
	t.Helper()
	object := r[name]
	if object == nil {
		t.Fatalf("no %s", name)
	}
	content, err := yaml.Marshal(nested(object.Object, path...))
	controlplanetest.Require(t, err)
	found := map[string]string{}
	controlplanetest.Require(t, yaml.Unmarshal(content, &found))
	return found
}

func nested(object map[string]any, path ...string) any {
	var at any = object
	for _, key := range path {
		at = at.(map[string]any)[key]
	}
	return at
}

// The API server's own judge, by dry run.
func TestPodSecurityRestrictedAdmitsThePods(t *testing.T) {
	cp := controlplanetest.Shared(t)
	clients := controlplanetest.Clients(t, cp)
	namespace, err := clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "restricted-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"},
	}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	try := func(pod corev1.PodTemplateSpec) error {
		pod.Spec.ServiceAccountName, pod.Spec.PriorityClassName = "default", ""
		pod.Name = "try"
		_, err := clients.CoreV1().Pods(namespace.Name).Create(t.Context(), &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = clients.CoreV1().ServiceAccounts(namespace.Name).Create(t.Context(), account, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	tried := 0
	for chart := range both {
		for _, file := range variants(t, chart) {
			objects := template(t, chart, controlplanetest.ReadFile(t, file))
			var pods []corev1.PodTemplateSpec // none with carry Literal
			for _, deployment := range objects.deployments(t) {
				pods = append(pods, deployment.Spec.Template)
			}
			if len(pods) == 0 && objects["DaemonSet/fairlead-relay"] != nil {
				pods = append(pods, objects.relay(t).Spec.Template)
			}
			for _, pod := range pods {
				tried++
				if err := try(pod); err != nil {
					t.Errorf("%s, %s: %v", chart, filepath.Base(file), err)
				}
				pod.Spec.Containers[0].SecurityContext = nil
				if err := try(pod); err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) {
					t.Errorf("the judge is asleep: %v", err)
				}
			}
		}
	}
	if tried != 11 {
		t.Errorf("%d Deployments and DaemonSets", tried)
	}
}

// A chart's folder links to the manifests; a package has them in it, and says of itself that they are the real ones.
func TestAPackageHasTheRealFilesAndTheirChecksums(t *testing.T) {
	repository := filepath.Dir(filepath.Dir(policies.Chart()))
	for chart, links := range both {
		folder := t.TempDir()
		_, err := helm.Run(t.Context(), "package", chartFolder(chart), "--destination", folder)
		controlplanetest.Require(t, err)
		run(t, folder, "tar", "-xzf", chart+"-"+chartFile(t, chart).Version+".tgz")
		unpacked := filepath.Join(folder, chart)

		listed := map[string]bool{}
		for line := range strings.Lines(run(t, unpacked, "sha256sum", "--check", "--strict", "SHA256SUMS")) {
			file, _ := strings.CutSuffix(line, ": OK\n")
			listed[file] = true
		}
		packed := map[string]bool{}
		for link, source := range links {
			for _, pattern := range []string{"*.yaml", "*/*.yaml", ".kyverno-test/*", "*/.kyverno-test/*"} {
				files, err := filepath.Glob(filepath.Join(unpacked, link, pattern))
				controlplanetest.Require(t, err)
				for _, file := range files {
					inLink, _ := filepath.Rel(filepath.Join(unpacked, link), file)
					packed[filepath.Join(link, inLink)] = true
					if !bytes.Equal(controlplanetest.ReadFile(t, file), controlplanetest.ReadFile(t, filepath.Join(repository, source, inLink))) {
						t.Errorf("%s: %s is not %s", chart, file, source)
					}
				}
			}
		}
		if diff := cmp.Diff(packed, listed); diff != "" {
			t.Errorf("%s (-package +SHA256SUMS):\n%s", chart, diff)
		}
		if _, err := os.Stat(filepath.Join(unpacked, "ci")); err == nil {
			t.Errorf("%s: ci is in the package", chart)
		}
	}
}

func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir, command.Stderr = folder, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, &stderr)
	}
	return string(out)
}

// The images that Artifact Hub looks at are those that the chart takes.
func TestTheAnnotatedImagesAreThoseOfTheChart(t *testing.T) {
	for chart := range both {
		about := chartFile(t, chart)
		var images []struct {
			Image string `json:"image"`
		}
		if err := yaml.Unmarshal([]byte(about.Annotations["artifacthub.io/images"]), &images); err != nil || len(images) == 0 {
			t.Fatal(chart, err)
		}
		manifest, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder(chart), Name: chart, Values: []any{values{"proxy": proxy(url, otherURL, "a")}}})
		controlplanetest.Require(t, err)
		for _, image := range images {
			if !strings.HasSuffix(image.Image, ":"+about.AppVersion) || !bytes.Contains(manifest, []byte(image.Image)) {
				t.Errorf("%s: %s is not in what is rendered", chart, image.Image)
			}
		}
	}
}
