// Package rollout_test runs the commands fairlead rollout on a real control plane. There is no operator: what it would write,
// revisions, reports and statuses, the test writes.
package rollout_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	operatorNamespace = "fairlead-system"
	secretPart        = "mySuperSecretPassword"
)

// manifest is applied by GitOps.
const manifest = `
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: NAME}
spec:
  source: {valuesRef: {name: proxy}}
  rollout:
    waves:
    - {name: canary, clusterSelector: {matchLabels: {stage: canary}}}
    - {name: rest}
`

type fixture struct {
	*testing.T
	cp         *controlplane.ControlPlane
	client     client.Client
	clients    kubernetes.Interface
	fairlead   string
	kubeconfig string
	namespace  string // of the clusters
	name       string // of the CorporateProxy, which is this test's
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, cp: controlplanetest.Shared(t)}
	root, err := repository.Root()
	f.must(err)
	f.must(f.cp.ApplyFS(t.Context(), os.DirFS(filepath.Join(root, "config", "crd"))))
	f.client = controlplanetest.Client(f, f.cp.Admin(), operator.Scheme)
	f.clients = controlplanetest.Clients(t, f.cp)
	f.namespace = controlplanetest.Namespace(t, f.cp)
	f.name = "corp-" + f.namespace
	err = f.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	if !apierrors.IsAlreadyExists(err) {
		f.must(err)
	}
	f.fairlead = controlplanetest.Program(t, "fairlead")
	f.kubeconfig, err = f.cp.Kubeconfig(f.cp.Admin())
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	controlplanetest.Require(f, err)
}

// apply applies the CorporateProxy as GitOps does. It goes with the test, or commands without a name would find it.
func (f *fixture) apply() {
	f.Helper()
	f.must(f.cp.Apply(f.Context(), []byte(strings.ReplaceAll(manifest, "NAME", f.name))))
}

// proxy applies it, with three revisions and two clusters: c1 has the third, and had the second, which c2 has.
func (f *fixture) proxy() {
	f.Helper()
	f.apply()
	f.Cleanup(func() {
		_ = f.client.Delete(context.Background(), &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: f.name}})
	})
	f.revision(1, "http://a.example:3128", "f1", "x.example")
	f.revision(2, "http://a.example:3128", "f2", "x.example")
	f.revision(3, "http://b.example:3128", "f2", "y.example")
	f.report("c1", 3, 2)
	f.report("c2", 2, 1)
	f.status(func(s *v1alpha1.CorporateProxyStatus) {
		s.Revisions = []v1alpha1.RevisionStatus{
			{Number: 3, Digest: f.digest(3), Since: second(3), Clusters: 1},
			{Number: 2, Digest: f.digest(2), Since: second(2), Clusters: 1, Passed: true, Completed: true},
			{Number: 1, Digest: f.digest(1), Since: second(1), Passed: true, Completed: true},
		}
		s.Rollout = f.rollout()
	})
}

// rollout is one whose first wave goes on.
func (f *fixture) rollout() *v1alpha1.RolloutStatus {
	started := second(3)
	return &v1alpha1.RolloutStatus{
		Revision: 3, Wave: "canary", Updated: 0, Of: 2, Progress: "0/2", InProgress: 1, Started: &started, Message: "wave canary gets revision 3",
		Waves: []v1alpha1.WaveStatus{{Name: "canary", State: v1alpha1.WaveProgressing, Of: 1}, {Name: "rest", State: v1alpha1.WavePending, Of: 1}},
	}
}

func second(n int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 22, 10, 0, n, 0, time.UTC))
}

func (f *fixture) digest(number int64) string {
	return strings.Repeat(string(rune('0'+number)), 8) + f.namespace
}

func (f *fixture) revision(number int64, url, credentials, entry string) {
	f.Helper()
	changed := second(int(number))
	p := revision.Public{
		Proxy: f.name, Number: number, Digest: f.digest(number), Since: changed, Credentials: credentials, HTTP: url, SourceEntries: []string{entry},
		Spec:    v1alpha1.CorporateProxySpec{Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "proxy"}}},
		Changes: []revision.Change{{Object: "Secret proxy", Manager: "kustomize-controller", Time: &changed}},
	}
	text, err := p.Text()
	f.must(err)
	object := metav1.ObjectMeta{
		Namespace: operatorNamespace, Name: revision.Name(f.name, number), Labels: map[string]string{v1alpha1.RevisionLabel: string(rune('0' + number))},
	}
	f.must(f.client.Create(f.Context(), &corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{revision.PublicKey: text}}))
	f.must(f.client.Create(f.Context(), &corev1.Secret{ObjectMeta: object, StringData: map[string]string{"source.http": "http://me:" + secretPart + "@a.example"}}))
}

func (f *fixture) report(name string, number, before int64) {
	f.Helper()
	record := revision.Record{
		ReportedRevision: v1alpha1.ReportedRevision{Proxy: f.name, Number: number, Digest: f.digest(number)},
		Before:           &revision.Before{Number: before, Digest: f.digest(before)},
	}
	f.must(f.client.Create(f.Context(), &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: name, Annotations: map[string]string{v1alpha1.RevisionAnnotation: record.String()},
	}}))
}

// status writes what the operator would.
func (f *fixture) status(change func(*v1alpha1.CorporateProxyStatus)) {
	f.Helper()
	var p v1alpha1.CorporateProxy
	f.must(f.client.Get(f.Context(), client.ObjectKey{Name: f.name}, &p))
	before := p.DeepCopy()
	p.Status.ObservedGeneration = p.Generation
	change(&p.Status)
	f.must(f.client.Status().Patch(f.Context(), &p, client.MergeFrom(before)))
}

// control is the data of the control ConfigMap; nil: there is none.
func (f *fixture) control() map[string]string {
	f.Helper()
	var c corev1.ConfigMap
	err := f.client.Get(f.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: revision.ControlName(f.name)}, &c)
	if !apierrors.IsNotFound(err) {
		f.must(err)
	}
	return c.Data
}

// command is one as an administrator.
func (f *fixture) command(args ...string) *exec.Cmd {
	return exec.CommandContext(f.Context(), f.fairlead, append([]string{"rollout", args[0], "--kubeconfig", f.kubeconfig}, args[1:]...)...)
}

// run runs it as somebody, or as an administrator, and returns its exit status and what it prints.
func (f *fixture) run(who *rest.Config, args ...string) (status int, out string) {
	f.Helper()
	command := f.command(args...)
	if who != nil {
		kubeconfig, err := f.cp.Kubeconfig(who)
		f.must(err)
		command.Args = append(command.Args, "--kubeconfig", kubeconfig) // the last one holds
	}
	var both bytes.Buffer
	command.Stdout, command.Stderr = &both, &both
	err := command.Run()
	if command.ProcessState == nil {
		f.Fatal(err)
	}
	if strings.Contains(both.String(), secretPart) {
		f.Error("it prints a password")
	}
	return command.ProcessState.ExitCode(), both.String()
}

// ends runs it, and compares how it ends, and that a part is in what it prints.
func (f *fixture) ends(who *rest.Config, status int, part string, args ...string) {
	f.Helper()
	if got, out := f.run(who, args...); got != status || !strings.Contains(out, part) {
		f.Errorf("%q: status %d, it says\n%s\nwant %d and %q", args, got, out, status, part)
	}
}

// says runs it, and compares what it prints.
func (f *fixture) says(status int, want string, args ...string) {
	f.Helper()
	want = strings.ReplaceAll(want, "NAME", f.name)
	if got, out := f.run(nil, args...); got != status || out != want {
		f.Errorf("%q: status %d, it says\n%s\nwant %d\n%s", args, got, out, status, want)
	}
}
