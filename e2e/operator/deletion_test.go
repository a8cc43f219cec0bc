package operator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// The finalizer stands in for Cluster API's core controller, which keeps a
// Cluster until its machines are gone.
const machinesRemain = clusterv1.ClusterFinalizer

func TestSecretsOutliveTheMachinesOfADeletedCluster(t *testing.T) {
	for name, policy := range map[string]metav1.DeletionPropagation{
		"in the background": metav1.DeletePropagationBackground,
		"in the foreground": metav1.DeletePropagationForeground,
		"orphaning":         metav1.DeletePropagationOrphan,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			proxy := f.exampleProxy()
			cluster := f.cluster("c1", func(c *clusterv1.Cluster) { c.Finalizers = []string{machinesRemain} })
			f.awaitNoProxy("c1", exampleMerged)
			f.report("c1", "Applied")

			f.must(f.client.Delete(t.Context(), cluster, client.PropagationPolicy(policy)))
			// A change still reaches a cluster that is being deleted: its machines
			// may still be replaced. That it does also shows that the operator has
			// looked since the deletion.
			modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "late.example"}} })
			f.awaitReport("c1", "the change", func(r *v1alpha1.ProxyReport) bool { return r.Status.NoProxy.Entries == 11 })
			if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
				t.Fatal("a Secret went before the machines")
			}

			modify(f, cluster, func(c *clusterv1.Cluster) { c.Finalizers = without(c.Finalizers, machinesRemain) })
			f.awaitAllGone("c1")
		})
	}
}

// The collector deletes what is owned by nobody but owners that wait for it.
func TestSecretsOutliveADeletedReport(t *testing.T) {
	const background, foreground, orphan = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan
	for name, policies := range map[string][]metav1.DeletionPropagation{
		"in the background": {background},
		"in the foreground": {foreground},
		"orphaning":         {orphan},
		"again and again":   {background, foreground, orphan, foreground},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.exampleProxy()
			cluster := f.cluster("c1")
			f.awaitNoProxy("c1", exampleMerged)
			report := f.report("c1", "Applied")
			f.machine("c1", "m-0", nil)
			f.awaitNodes("c1", 1, 0, 0, 0)
			gone := f.watchDeletions()
			defer func() { // also after a failure: it says why
				for _, name := range gone() {
					t.Errorf("%s was gone", name)
				}
			}()
			for _, policy := range policies {
				f.must(f.client.Delete(t.Context(), report, client.PropagationPolicy(policy)))
				report = f.awaitReport("c1", "the collector, and everything applied after it", func(r *v1alpha1.ProxyReport) bool {
					ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
					return len(r.Finalizers) == 1 && ready.ObservedGeneration == r.Generation
				})
				f.awaitOwners("c1", report.UID, cluster.UID)
			}
			for _, record := range report.Status.Secrets {
				if record.Reverts != 0 {
					t.Errorf("%s: %d reverts", record.Name, record.Reverts)
				}
			}
			f.awaitNodes("c1", 1, 0, 0, 0)
			if left := gone(); len(left) > 0 {
				t.Fatalf("gone for a while: %v", left)
			}
			gone = func() []string { return nil } // from here on they are to go
			f.must(f.client.Delete(t.Context(), cluster))
			f.awaitAllGone("c1")
		})
	}
}

// An operator that starts on a fleet of an earlier version writes nothing. The second owner comes with the re-apply.
func TestSecretsOfAnEarlierVersionGetTheirSecondOwnerWithTheReapply(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	report := f.report("c1", "Applied")
	f.must(f.operator.Stop())
	f.forgetSecondOwner(report)

	mark, err := f.cp.AuditMark()
	f.must(err)
	f.startOperator()
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Labels["fairlead.test/touched"] = "yes" })
	f.cluster("c2") // by the time that it is there, the first one was looked at
	f.report("c2", "Applied")
	if writes := f.writesTo(mark, "c1"); len(writes) != 0 {
		t.Errorf("after the upgrade: %v", writes)
	}
	report = f.reapply("c1", "paced")
	f.awaitOwners("c1", report.UID, cluster.UID)
	for _, record := range report.Status.Secrets {
		if record.Reverts != 0 || !record.OwnedByCluster {
			t.Errorf("%+v", record)
		}
	}
}

// forgetSecondOwner makes Secrets and records what an earlier version left.
func (f *fixture) forgetSecondOwner(report *v1alpha1.ProxyReport) {
	f.Helper()
	values, systemd := f.secrets(report.Name)
	for _, secret := range []*corev1.Secret{values, systemd} {
		f.must(f.client.Patch(f.Context(), secret, client.RawPatch(types.StrategicMergePatchType,
			[]byte(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"`+string(secret.OwnerReferences[1].UID)+`"}]}}`))))
	}
	awaitStatus(f, report, func(r *v1alpha1.ProxyReport) { // what it wrote at its end may be younger than this report
		for i := range r.Status.Secrets {
			r.Status.Secrets[i].OwnedByCluster = false
		}
	})
}

// awaitOwners awaits that both Secrets have these owners and no other.
func (f *fixture) awaitOwners(cluster string, report, owner types.UID) {
	f.Helper()
	want := []string{"Cluster " + string(owner), "ProxyReport " + string(report)}
	controlplanetest.Await(f, "both owners of the Secrets of "+cluster, func(context.Context) (bool, error) {
		values, systemd := f.secrets(cluster)
		for _, secret := range []*corev1.Secret{values, systemd} {
			if secret == nil {
				return false, errors.New("a Secret is gone")
			}
			var owners []string
			for _, o := range secret.OwnerReferences {
				owners = append(owners, o.Kind+" "+string(o.UID))
			}
			if slices.Sort(owners); !slices.Equal(owners, want) {
				return false, fmt.Errorf("%s is owned by %v", secret.Name, owners)
			}
		}
		return true, nil
	})
}

// watchDeletions watches Secrets from now on, and returns who names those that were deleted until it is called.
func (f *fixture) watchDeletions() func() []string {
	f.Helper()
	secrets := controlplanetest.Clients(f, f.cp).CoreV1().Secrets(f.namespace)
	now, err := secrets.List(f.Context(), metav1.ListOptions{})
	f.must(err)
	watcher, err := secrets.Watch(f.Context(), metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	f.must(err)
	f.Cleanup(watcher.Stop)
	marks := 0
	return func() (gone []string) {
		marks++
		mark := fmt.Sprint("mark-", marks)
		_, err := secrets.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: mark}}, metav1.CreateOptions{})
		f.must(err)
		for event := range watcher.ResultChan() {
			secret, is := event.Object.(*corev1.Secret)
			if !is {
				f.Fatalf("the watch of Secrets says %v", event)
			}
			if secret.Name == mark {
				return gone
			}
			if event.Type == watch.Deleted {
				gone = append(gone, secret.Name)
			}
		}
		f.Fatal("the watch of Secrets ended")
		return nil
	}
}

func TestSecretsOfAClusterThatGoesWhileTheOperatorIsDownGoOnceItIsBack(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
		t.Fatal("a Secret went without the operator")
	}
	f.startOperator()
	f.awaitAllGone("c1")

	// What docs/how-to/troubleshooting.md shows of a namespace that does not end.
	f.cluster("c2")
	f.report("c2", "Applied")
	f.operator.Kill()
	namespaces := controlplanetest.Clients(f, f.cp).CoreV1().Namespaces()
	f.must(namespaces.Delete(t.Context(), f.namespace, metav1.DeleteOptions{}))
	controlplanetest.Await(t, "what the namespace waits for", func(ctx context.Context) (bool, error) {
		namespace, err := namespaces.Get(ctx, f.namespace, metav1.GetOptions{})
		f.must(err)
		said := fmt.Sprint(namespace.Status.Conditions)
		return controlplanetest.Holds(strings.Contains(said, "finalizers remaining: fairlead.io/cluster in 1 resource instances"), "it says %s", said)
	})
	f.startOperator()
	controlplanetest.Await(t, "the namespace's end", func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, f.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func TestAnotherClusterOfTheSameNameDoesNotInheritTheSecrets(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	first := f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	f.cluster("c1", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{} })
	f.startOperator()
	f.awaitReport("c1", "a report of the new Cluster, withheld", func(r *v1alpha1.ProxyReport) bool {
		return r.UID != first.UID && notReady(r)
	})
	controlplanetest.Await(t, "the old Secrets to go", func(context.Context) (bool, error) {
		values, systemd := f.secrets("c1")
		return holds(values == nil && systemd == nil, "there are %v and %v", nameOf(values), nameOf(systemd))
	})
}

func TestAPausedClusterOfTheSameNameKeepsTheSecretsUntilItIsUnpaused(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	first := f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	yes := true
	cluster = f.cluster("c1", func(c *clusterv1.Cluster) { c.Spec.Paused = &yes })
	f.startOperator()
	paused := f.awaitReport("c1", "Paused", func(r *v1alpha1.ProxyReport) bool { return hasCondition(r, v1alpha1.ConditionPaused) })
	if values, systemd := f.secrets("c1"); paused.UID != first.UID || paused.DeletionTimestamp != nil || values == nil || systemd == nil {
		t.Error("something of a paused Cluster was deleted")
	}
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	f.awaitReport("c1", "a report of the new Cluster", func(r *v1alpha1.ProxyReport) bool {
		return r.UID != first.UID && r.Status.Cluster.UID == cluster.UID
	})
	f.awaitNoProxy("c1", exampleMerged)
}

func TestDeletingTheCRDOfReportsTakesNoSecretFromALivingCluster(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.report("c1", "Applied")
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.Name = "proxyreports.fairlead.io"
	remove := func() {
		t.Helper()
		f.must(f.client.Delete(t.Context(), crd.DeepCopy()))
		f.awaitReport("c1", "its deletion", func(r *v1alpha1.ProxyReport) bool { return r.DeletionTimestamp != nil })
		if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
			t.Fatal("a Secret went with the CRD")
		}
	}
	remove()
	late := f.cluster("c2")
	f.bringBackTheCRDOfReports()
	f.awaitNoProxy("c2", exampleMerged)
	f.must(f.client.Delete(t.Context(), late))
	f.awaitAllGone("c2")

	remove()
	f.must(f.client.Delete(t.Context(), cluster))
	controlplanetest.Await(t, "the CRD and both Secrets to go", func(ctx context.Context) (bool, error) {
		values, systemd := f.secrets("c1")
		err := f.client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
		return holds(values == nil && systemd == nil && apierrors.IsNotFound(err), "there are %v and %v; the CRD: %v, finalizers %v",
			nameOf(values), nameOf(systemd), err, crd.Finalizers)
	})
}

// bringBackTheCRDOfReports does what docs/how-to/troubleshooting.md says, to a CRD that is Terminating.
func (f *fixture) bringBackTheCRDOfReports() {
	f.Helper()
	root, err := repository.Root()
	f.must(err)
	page, err := os.ReadFile(filepath.Join(root, "docs/how-to/troubleshooting.md"))
	f.must(err)
	commands := regexp.MustCompile("(?s)```sh\n([^`]*>reports.yaml.*?)```").FindSubmatch(page)
	if commands == nil {
		f.Fatal("the page has no commands")
	}
	path := f.TempDir()
	for _, tool := range []tools.Tool{tools.Kubectl, tools.Helm} {
		program, err := tools.Build(f.Context(), tool, nil)
		f.must(err)
		f.must(os.Symlink(program, filepath.Join(path, tool.Name)))
	}
	promised := f.report("c1", "Applied").Annotations
	values, systemd := f.secrets("c1")
	f.operator.Kill()
	run := exec.CommandContext(f.Context(), "bash", "-euo", "pipefail", "-c", "cd \"$0\"; "+strings.ReplaceAll(string(commands[1]), "reports.yaml", path+"/reports.yaml"), root)
	run.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "KUBECONFIG="+f.cp.AdminKubeconfig(), "HOME="+path)
	if output, err := run.CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, output)
	}
	f.startOperator()
	if report := f.report("c1", "Applied"); report.DeletionTimestamp != nil || !maps.Equal(report.Annotations, promised) {
		f.Errorf("the report is another: %v, had %v", report.Annotations, promised)
	}
	for _, was := range []*corev1.Secret{values, systemd} {
		if is := f.secret(was.Name); is == nil || is.UID != was.UID || !maps.EqualFunc(is.Data, was.Data, bytes.Equal) {
			f.Errorf("%s is another", was.Name)
		}
	}
}

// awaitAllGone awaits that Cluster, report and both Secrets are gone.
func (f *fixture) awaitAllGone(name string) {
	f.Helper()
	controlplanetest.Await(f, "everything of "+name+" to go", func(ctx context.Context) (bool, error) {
		report := f.client.Get(ctx, f.key(name), &v1alpha1.ProxyReport{})
		cluster := f.client.Get(ctx, f.key(name), &clusterv1.Cluster{})
		if !apierrors.IsNotFound(report) || !apierrors.IsNotFound(cluster) {
			return false, errors.New("the report or the Cluster is still there")
		}
		if f.secret(name+render.ValuesSuffix) != nil || f.secret(name+render.SystemdSuffix) != nil {
			return false, errors.New("a Secret is still there")
		}
		return true, nil
	})
}

func without(list []string, item string) []string {
	var rest []string
	for _, s := range list {
		if s != item {
			rest = append(rest, s)
		}
	}
	return rest
}

func nameOf(secret *corev1.Secret) string {
	if secret == nil {
		return "none"
	}
	return secret.Name
}
