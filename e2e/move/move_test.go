// Package move moves a cluster from one management cluster to another with the real clusterctl, while Fairlead runs in
// both: as docs/how-to/move.md says, whose commands run here. There are no controllers of Cluster API. The infrastructure
// is the real kind of the docker provider, and nobody behind it.
package move_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/howto"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	install = "Install Fairlead in the target"
	move    = "Move"
	look    = "Look"
)

func TestAMovedClusterKeepsItsSettings(t *testing.T) {
	source, target := startManagement(t), startManagement(t)
	page, err := howto.Read(t.Context(), "move.md", "e2e/move", t.TempDir(), tools.Clusterctl)
	controlplanetest.Require(t, err)
	if diff := cmp.Diff([]string{install, move, look}, page.Titles()); diff != "" {
		t.Fatalf("the page's sections (-want +got):\n%s", diff)
	}
	page.Setenv("KUBECONFIG", source.cp.AdminKubeconfig())
	controlplanetest.Require(t, os.Symlink(target.cp.AdminKubeconfig(), page.File("target.kubeconfig")))
	run := func(title string) string {
		output, err := page.Run(t.Context(), title)
		controlplanetest.Require(t, err)
		return output
	}

	// Of the installation, the source has what the target will have.
	_, err = page.Shell(t.Context(), "helm install fairlead charts/fairlead --namespace fairlead-system --create-namespace --values secret-values.yaml")
	controlplanetest.Require(t, err)
	source.startOperator(t)
	source.createWorkload(t, cluster)
	was := source.report(t, cluster)
	run(install)
	target.startOperator(t)

	secrets, override := source.ours(t, cluster), source.override(t)
	leaving, arriving := source.witness(t), target.witness(t)
	marks := map[*management]controlplane.AuditMark{source: source.mark(t), target: target.mark(t)}
	run(move)
	if output := run(look); !strings.Contains(output, cluster) {
		t.Errorf("the page's last command prints %q", output)
	}

	is := target.report(t, cluster)
	t.Run("what arrives", func(t *testing.T) { checkArrived(t, target, secrets, override, was, is) })
	t.Run("it is clusterctl that brings it", func(t *testing.T) { checkBrought(t, target, marks[target]) })
	t.Run("never blank nor deleted on the way", func(t *testing.T) {
		for _, secret := range secrets {
			kinds, constant := arriving.happened(secret)
			if !constant || len(kinds) == 0 || kinds[0] != watch.Added || slices.Contains(kinds, watch.Deleted) {
				t.Errorf("%s in the target: %v, its content always the same: %t", secret.Name, kinds, constant)
			}
		}
	})
	t.Run("the target's operator writes each once", func(t *testing.T) {
		if writes := target.secretWrites(t, marks[target]); len(writes) != len(secrets) {
			t.Errorf("%d writes: %v", len(writes), writes)
		}
	})
	t.Run("the source's writes nothing, and nothing comes back", func(t *testing.T) { checkLeft(t, source, leaving, secrets, marks[source]) })
	t.Run("the target's operator goes on", func(t *testing.T) { checkGoesOn(t, target) })
	t.Run("a report that comes first waits for its Cluster", func(t *testing.T) { checkReportFirst(t, target) })
	t.Run("what nothing selects in the target", func(t *testing.T) { checkNotSelected(t, source, target, func() { run(move) }) })
}

func checkArrived(t *testing.T, target *management, secrets map[string]*corev1.Secret, override *v1alpha1.ProxyOverride, was, is *v1alpha1.ProxyReport) {
	t.Helper()
	for name, secret := range target.ours(t, cluster) {
		if diff := cmp.Diff(secrets[name].Data, secret.Data); diff != "" {
			t.Errorf("%s is another", name) // not how: the password is in it
		}
		if diff := cmp.Diff(secrets[name].Labels, secret.Labels); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", name, diff)
		}
		owned := func(kind string, uid types.UID) bool {
			return slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == kind && o.UID == uid })
		}
		if len(secret.OwnerReferences) != 2 || !owned("ProxyReport", is.UID) || !owned("Cluster", is.Status.Cluster.UID) {
			t.Errorf("%s is owned by %+v", name, secret.OwnerReferences)
		}
	}
	if diff := cmp.Diff(override.Spec, target.override(t).Spec); diff != "" {
		t.Errorf("ProxyOverride (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(was.Status.NoProxy, is.Status.NoProxy); diff != "" || was.Status.Form != is.Status.Form {
		t.Errorf("report, form %s (-want +got):\n%s", is.Status.Form, diff)
	}
	if !slices.Contains(is.Finalizers, v1alpha1.ReportFinalizer) {
		t.Errorf("the report's finalizers are %v", is.Finalizers)
	}
	if nodes := is.Status.Nodes; nodes == nil || nodes.Machines != 1 || nodes.Outdated != 0 {
		t.Errorf("machines: %+v", nodes)
	}
	var object clusterv1.Cluster
	if err := target.client.Get(t.Context(), key, &object); err != nil || object.Spec.Paused != nil {
		t.Errorf("the Cluster is paused: %v, %v", object.Spec.Paused, err)
	}
	if _, err := target.clients.CoreV1().Secrets(namespace).Get(t.Context(), "somebody-elses", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("clusterctl moves every Secret, so this shows nothing: %v", err)
	}
}

// checkBrought: what the target's operator would make by itself is there before it does.
func checkBrought(t *testing.T, target *management, mark controlplane.AuditMark) {
	t.Helper()
	brought := target.writes(t, mark, controlplane.ByUserAgent("clusterctl"))
	for _, object := range []string{
		"proxyoverrides/mycluster", "proxyreports/mycluster", "secrets/mycluster-cluster-values", "secrets/mycluster-systemd-proxy",
	} {
		if !slices.Contains(brought, "create "+object) {
			t.Errorf("%s was not moved; what was: %v", object, brought)
		}
	}
}

func checkLeft(t *testing.T, source *management, w *witness, secrets map[string]*corev1.Secret, mark controlplane.AuditMark) {
	t.Helper()
	controlplanetest.Await(t, "the source to be empty", func(ctx context.Context) (bool, error) {
		for _, object := range []client.Object{&clusterv1.Cluster{}, &v1alpha1.ProxyReport{}, &v1alpha1.ProxyOverride{}} {
			if err := source.client.Get(ctx, key, object); !apierrors.IsNotFound(err) {
				return false, fmt.Errorf("%T: %w", object, errors.Join(err, errors.New("it is there")))
			}
		}
		return true, nil
	})
	// Whatever it does because of that, it has done after the next cluster.
	source.createWorkload(t, next)
	source.report(t, next)
	for _, secret := range secrets {
		kinds, _ := w.happened(secret)
		if n := len(kinds); n < 2 || kinds[n-1] != watch.Deleted || slices.Contains(kinds[1:], watch.Added) {
			t.Errorf("%s in the source: %v", secret.Name, kinds)
		}
	}
	for _, write := range source.secretWrites(t, mark) {
		if strings.Contains(write, cluster) {
			t.Error(write)
		}
	}
	for _, write := range source.writes(t, mark, controlplane.ByUser(operator.User), controlplane.OnResource("fairlead.io", "proxyreports")) {
		if strings.HasPrefix(write, "create") && strings.HasSuffix(write, cluster) {
			t.Error(write)
		}
	}
	if err := source.client.Get(t.Context(), client.ObjectKey{Name: "default"}, &v1alpha1.CorporateProxy{}); err != nil {
		t.Errorf("the source's CorporateProxy: %v", err)
	}
}

func checkGoesOn(t *testing.T, target *management) {
	t.Helper()
	secret, err := target.clients.CoreV1().Secrets("fairlead-system").Get(t.Context(), "corporate-proxy", metav1.GetOptions{})
	controlplanetest.Require(t, err)
	secret.Data["noProxy"] = append(secret.Data["noProxy"], ",later.example"...)
	_, err = target.clients.CoreV1().Secrets("fairlead-system").Update(t.Context(), secret, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the change in both Secrets", func(context.Context) (bool, error) {
		for _, secret := range target.ours(t, cluster) {
			for _, content := range secret.Data {
				if !strings.Contains(string(content), "later.example") || !strings.Contains(string(content), "registry.acme.internal") {
					return false, fmt.Errorf("not in %s", secret.Name)
				}
			}
		}
		return true, nil
	})
	for _, condition := range target.report(t, cluster).Status.Conditions {
		if condition.Type == v1alpha1.ConditionContended || condition.Type == v1alpha1.ConditionNameTaken {
			t.Errorf("%+v", condition)
		}
	}
}

// checkReportFirst does what clusterctl may do: it creates what has no owner in any order, and the Secrets after it.
func checkReportFirst(t *testing.T, target *management) {
	t.Helper()
	before := target.reconciles(t)
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "first"}}
	controllerutil.AddFinalizer(report, v1alpha1.ReportFinalizer)
	controlplanetest.Require(t, target.client.Create(t.Context(), report))
	target.awaitReconciles(t, before+1)
	again := &v1alpha1.ProxyReport{}
	if err := target.client.Get(t.Context(), client.ObjectKeyFromObject(report), again); err != nil || again.DeletionTimestamp != nil {
		t.Fatalf("the report is not waited for: deleted at %v, %v", again.DeletionTimestamp, err)
	}
	controlplanetest.Require(t, target.cp.Apply(t.Context(), []byte(strings.ReplaceAll(workload, "mycluster", "first"))))
	if done := target.report(t, "first"); done.UID != report.UID {
		t.Errorf("the report is another: %s, was %s", done.UID, report.UID)
	}
}

func (m *management) override(t *testing.T) *v1alpha1.ProxyOverride {
	t.Helper()
	override := &v1alpha1.ProxyOverride{}
	controlplanetest.Require(t, m.client.Get(t.Context(), key, override))
	return override
}

func (m *management) mark(t *testing.T) controlplane.AuditMark {
	t.Helper()
	mark, err := m.cp.AuditMark()
	controlplanetest.Require(t, err)
	return mark
}

// secretWrites are the operator's since then.
func (m *management) secretWrites(t *testing.T, since controlplane.AuditMark) []string {
	t.Helper()
	return m.writes(t, since, controlplane.ByUser(operator.User), controlplane.OnResource("", "secrets"))
}

// writes are those in the namespace, such as "create secrets/mycluster-systemd-proxy".
func (m *management) writes(t *testing.T, since controlplane.AuditMark, conditions ...controlplane.AuditCondition) (found []string) {
	t.Helper()
	events, err := m.cp.AuditEvents(since, append(conditions, controlplane.Writes)...)
	controlplanetest.Require(t, err)
	for _, e := range events {
		if e.ObjectRef.Namespace == namespace {
			found = append(found, e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Name)
		}
	}
	return found
}

// reconciles is how often the operator has looked at a cluster since its start.
func (m *management) reconciles(t *testing.T) float64 {
	t.Helper()
	page, err := m.operator.Metrics(t.Context())
	controlplanetest.Require(t, err)
	return process.Sum(page, `controller_runtime_reconcile_total{controller="cluster"`)
}

func (m *management) awaitReconciles(t *testing.T, least float64) {
	t.Helper()
	controlplanetest.Await(t, "the operator to look", func(context.Context) (bool, error) {
		n := m.reconciles(t)
		return controlplanetest.Holds(n >= least, "%v times", n)
	})
}
