package operator_test

import (
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
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
			cluster := f.servedCluster("c1", func(c *clusterv1.Cluster) { c.Finalizers = []string{machinesRemain} })

			f.must(f.client.Delete(t.Context(), cluster, client.PropagationPolicy(policy)))
			// A change still reaches a cluster that is being deleted: its machines
			// may still be replaced. That it does also shows that the operator has
			// looked since the deletion.
			f.addEntry(proxy, "late.example")
			f.awaitReport("c1", "the change", func(r *v1alpha1.ProxyReport) bool { return r.Status.NoProxy.Entries == 11 })
			f.wantSecrets("c1", true, "a Secret went before the machines")

			modify(f, cluster, func(c *clusterv1.Cluster) {
				c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == machinesRemain })
			})
			f.awaitAllGone("c1")
		})
	}
}

// The collector deletes what is owned by nobody but owners that wait for it.
func TestSecretsOutliveADeletedReport(t *testing.T) {
	const background, foreground, orphan = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan
	f := newFixture(t)
	h := watchEtcd(f)
	f.exampleProxy()
	cluster := f.servedCluster("c1")
	report := f.report("c1", "Applied")
	f.machine("c1", "m-0", nil)
	f.awaitNodes("c1", 1, 0, 0, 0)
	defer h.neverBlank() // also after a failure: it says why
	for _, policy := range []metav1.DeletionPropagation{background, foreground, orphan, foreground} {
		f.must(f.client.Delete(t.Context(), report, client.PropagationPolicy(policy)))
		report = f.awaitReport("c1", "the collector, and everything applied after it", func(r *v1alpha1.ProxyReport) bool {
			return len(r.Finalizers) == 1 && conditionOf(r.Status.Conditions, v1alpha1.ConditionReady).ObservedGeneration == r.Generation
		})
		f.awaitOwners("c1", report.UID, cluster.UID)
	}
	for _, record := range report.Status.Secrets {
		if record.Reverts != 0 {
			t.Errorf("%s: %d reverts", record.Name, record.Reverts)
		}
	}
	f.awaitNodes("c1", 1, 0, 0, 0)
	h.catchUp()
	h.stop() // from here on they are to go
	f.must(f.client.Delete(t.Context(), cluster))
	f.awaitAllGone("c1")
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

func TestSecretsOfAClusterThatGoesWhileTheOperatorIsDownGoOnceItIsBack(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.servedCluster("c1")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	f.wantSecrets("c1", true, "a Secret went without the operator")
	f.startOperator()
	f.awaitAllGone("c1")

	// What docs/how-to/troubleshooting.md shows of a namespace that does not end.
	f.servedCluster("c2")
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

// A paused Cluster keeps what it had of the first of its name until it is unpaused; then it inherits nothing.
func TestAnotherClusterOfTheSameNameDoesNotInheritTheSecrets(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.servedCluster("c1")
	first := f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	cluster = f.cluster("c1", func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint, c.Spec.Paused = clusterv1.APIEndpoint{}, ptr.To(true)
	})
	f.startOperator()
	paused := f.awaitReport("c1", "Paused", func(r *v1alpha1.ProxyReport) bool {
		return meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionPaused)
	})
	if paused.UID != first.UID || paused.DeletionTimestamp != nil {
		t.Error("the report of a paused Cluster was deleted")
	}
	f.wantSecrets("c1", true, "a Secret of a paused Cluster was deleted")
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	f.awaitReport("c1", "a report of the new Cluster, withheld", func(r *v1alpha1.ProxyReport) bool {
		return r.UID != first.UID && meta.IsStatusConditionFalse(r.Status.Conditions, v1alpha1.ConditionReady)
	})
	f.awaitNoSecrets("c1")
}

func TestDeletingTheCRDOfReportsTakesNoSecretFromALivingCluster(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	f.servedCluster("c1")
	f.must(f.client.Delete(t.Context(), objectOf("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "proxyreports.fairlead.io")))
	f.awaitReport("c1", "its deletion", func(r *v1alpha1.ProxyReport) bool { return r.DeletionTimestamp != nil })
	f.wantSecrets("c1", true, "a Secret went with the CRD")
	late := f.cluster("c2")
	f.bringBackTheCRDOfReports()
	f.awaitNoProxy("c2", exampleMerged)
	f.must(f.client.Delete(t.Context(), late))
	f.awaitAllGone("c2")
}

// bringBackTheCRDOfReports does what docs/how-to/troubleshooting.md says, to a CRD that is Terminating.
func (f *fixture) bringBackTheCRDOfReports() {
	f.Helper()
	root, err := repository.Root()
	f.must(err)
	page := controlplanetest.ReadFile(f, filepath.Join(root, "docs/how-to/troubleshooting.md"))
	commands := regexp.MustCompile("(?s)```sh\n([^`]*>reports.yaml.*?)```").FindSubmatch(page)
	if commands == nil {
		f.Fatal("the page has no commands")
	}
	path := f.TempDir()
	for _, tool := range []tools.Tool{tools.Kubectl, tools.Helm} {
		f.must(os.Symlink(controlplanetest.Tool(f, tool), filepath.Join(path, tool.Name)))
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
	f.wantSame(values, systemd)
}

// awaitAllGone awaits that Cluster, report and both Secrets are gone.
func (f *fixture) awaitAllGone(name string) {
	f.Helper()
	controlplanetest.Await(f, "everything of "+name+" to go", func(ctx context.Context) (bool, error) {
		report := f.client.Get(ctx, f.key(name), &v1alpha1.ProxyReport{})
		cluster := f.client.Get(ctx, f.key(name), &clusterv1.Cluster{})
		return controlplanetest.Holds(apierrors.IsNotFound(report) && apierrors.IsNotFound(cluster), "the report or the Cluster is still there")
	})
	f.awaitNoSecrets(name)
}

func (f *fixture) awaitNoSecrets(cluster string) {
	f.Helper()
	controlplanetest.Await(f, "the Secrets of "+cluster+" to go", func(context.Context) (bool, error) {
		values, systemd := f.secrets(cluster)
		return controlplanetest.Holds(values == nil && systemd == nil, "there are %s and %s", nameOf(values), nameOf(systemd))
	})
}
