package operator_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func rolling(p *v1alpha1.CorporateProxy) { p.Spec.Node.Rollout = v1alpha1.RolloutRolling }

// built is a cluster with a control plane and MachineDeployments of one machine each.
type built struct {
	name   string
	owners []client.Object
}

func (f *fixture) build(name string, deployments ...string) built {
	f.Helper()
	f.cluster(name)
	f.report(name, "Applied")
	b := built{name, []client.Object{f.controlPlane(name)}}
	for _, md := range deployments {
		b.owners = append(b.owners, f.deployment(name, name+"-"+md))
	}
	for _, owner := range b.owners {
		f.machine(name, owner.GetName()+"-0", owner)
	}
	f.awaitNodes(name, int32(len(b.owners)), 0, 0, 0)
	return b
}

// after returns spec.rollout.after of an owner.
func (f *fixture) after(owner client.Object) metav1.Time {
	f.Helper()
	f.must(f.client.Get(f.Context(), client.ObjectKeyFromObject(owner), owner))
	switch owner := owner.(type) {
	case *controlplanev1.KubeadmControlPlane:
		return owner.Spec.Rollout.After
	case *clusterv1.MachineDeployment:
		return owner.Spec.Rollout.After
	}
	f.Fatalf("%T has none", owner)
	return metav1.Time{}
}

// awaitRolled awaits that an owner is told to replace what is older than since.
func (f *fixture) awaitRolled(owner client.Object, since *metav1.Time) {
	f.Helper()
	controlplanetest.Await(f, "rollout of "+owner.GetName(), func(context.Context) (bool, error) {
		after := f.after(owner)
		if !after.Equal(since) {
			return false, fmt.Errorf("it is %v, since is %v", after, since)
		}
		return true, nil
	})
}

// replace does what Cluster API would: a new machine, which comes up, and the old one goes.
func (f *fixture) replace(b built, owner client.Object) {
	f.Helper()
	f.comeUp(owner)
	f.replaceByOneThatStaysDown(b, owner)
}

// comeUp says of an owner what Cluster API does when its machines are available.
func (f *fixture) comeUp(owner client.Object) {
	f.Helper()
	patch := fmt.Sprintf(`{"status":{"replicas":%[1]d,"upToDateReplicas":%[1]d,"availableReplicas":%[1]d}}`, replicas(owner))
	f.must(f.client.Status().Patch(f.Context(), owner, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func replicas(owner client.Object) int32 {
	switch owner := owner.(type) {
	case *controlplanev1.KubeadmControlPlane:
		return *owner.Spec.Replicas
	case *clusterv1.MachineDeployment:
		return *owner.Spec.Replicas
	}
	return 0
}

func (f *fixture) replaceByOneThatStaysDown(b built, owner client.Object) {
	f.Helper()
	f.machine(b.name, owner.GetName()+"-1", owner)
	f.must(f.client.Delete(f.Context(), &clusterv1.Machine{ObjectMeta: f.meta(owner.GetName()+"-0", b.name)}))
}

func (f *fixture) installRollout() {
	f.Helper()
	cage, err := config.Files.ReadFile("rbac/rollout_policy.yaml") // it is there, unless a test has deleted it
	f.must(err)
	f.must(f.cp.Apply(f.Context(), cage))
	f.must(f.cp.ApplyFS(f.Context(), config.Rollout))
}

// ownerPatches lists the owners that the operator has patched, in order.
func (f *fixture) ownerPatches(mark controlplane.AuditMark) []string {
	f.Helper()
	events, err := f.cp.AuditEvents(mark, controlplane.Writes, controlplane.ByUser(operator.User), isReal, func(e auditv1.Event) bool {
		return e.ObjectRef != nil && slices.Contains([]string{"kubeadmcontrolplanes", "machinedeployments"}, e.ObjectRef.Resource)
	})
	f.must(err)
	var names []string
	for _, e := range events {
		if e.ResponseStatus == nil || e.ResponseStatus.Code != 200 {
			f.Errorf("%s %s: %+v", e.Verb, e.RequestURI, e.ResponseStatus)
		}
		names = append(names, e.ObjectRef.Name)
	}
	return names
}

func rolloutMessage(r *v1alpha1.ProxyReport) string {
	if r.Status.Rollout == nil {
		return ""
	}
	return r.Status.Rollout.Message
}

func (f *fixture) awaitRollout(cluster, message string) *v1alpha1.ProxyReport {
	f.Helper()
	return f.awaitReport(cluster, "rollout: "+message, func(r *v1alpha1.ProxyReport) bool {
		return strings.Contains(rolloutMessage(r), message) && (message != "" || rolloutMessage(r) == "")
	})
}

func TestRollingReplacesMachinesOneClusterAndOneOwnerAtATime(t *testing.T) {
	tier.Full(t)
	const interval = 8 * time.Second // more than the first cluster takes, or nobody waits for it
	f := newOwnFixture(t, "--rollout-interval="+interval.String())
	f.installRollout()
	proxy := f.exampleProxy()
	a, b := f.build("a"), f.build("b", "md-1", "md-2")
	mark, err := f.cp.AuditMark()
	f.must(err)
	f.changeSource("b", otherPassword("changed"))
	sinceA, sinceB := f.awaitNodes("a", 1, 1, 0, 0).Since, f.awaitNodes("b", 3, 3, 0, 0).Since
	modify(f, proxy, rolling) // not before both are outdated: the first to be so would begin

	f.awaitRolled(a.owners[0], sinceA)
	f.awaitRollout("b", "waits for its turn")
	f.replace(a, a.owners[0])
	done := f.awaitNodes("a", 1, 0, 0, 0)
	if !done.Since.Equal(sinceA) {
		t.Error("a rollout moves since")
	}
	f.awaitRolled(b.owners[0], sinceB)
	first, second := f.awaitRollout("a", ""), f.awaitRollout("b", "rolling KubeadmControlPlane b-cp")
	if first.Status.Rollout.After != nil || second.Status.Rollout.After == nil {
		t.Error("the turn was not handed on")
	}
	if pause := second.Status.Rollout.Started.Sub(first.Status.Rollout.Started.Time); pause < interval {
		t.Errorf("they began within %s", pause)
	}
	for _, owner := range b.owners {
		f.awaitRolled(owner, sinceB)
		f.replace(b, owner)
	}
	f.awaitRollout("b", "")
	if got := f.ownerPatches(mark); !slices.Equal(got, []string{"a-cp", "b-cp", "b-md-1", "b-md-2"}) {
		t.Errorf("rolled %q", got)
	}

	// A change of order begins nothing: c, which comes last by name, is the next.
	mark, err = f.cp.AuditMark()
	f.must(err)
	f.changeSource("a", func(data map[string][]byte) {
		entries := strings.Split(string(data["noProxy"]), ",")
		slices.Reverse(entries)
		data["noProxy"] = []byte(strings.Join(entries, ","))
	})
	c := f.build("c")
	source := f.secondProxy("c")
	f.awaitRolled(c.owners[0], f.awaitNodes("c", 1, 1, 0, 0).Since)
	if got := f.ownerPatches(mark); !slices.Equal(got, []string{"c-cp"}) {
		t.Errorf("after a change of order, rolled %q", got)
	}

	// Neither does Never: a and b are outdated, and passed over.
	f.replace(c, c.owners[0])
	f.awaitRollout("c", "")
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.Node.Rollout = v1alpha1.RolloutNever })
	f.changeSource("a", otherPassword("again"))
	f.awaitNodes("a", 1, 1, 0, 0)
	f.awaitNodes("b", 3, 3, 0, 0)
	modify(f, source, func(s *corev1.Secret) { otherPassword("third")(s.Data) })
	f.awaitRolled(c.owners[0], f.awaitNodes("c", 1, 1, 0, 0).Since)
	if got := f.ownerPatches(mark); !slices.Equal(got, []string{"c-cp", "c-cp"}) {
		t.Errorf("with Never, rolled %q", got)
	}
}

// secondProxy gives a cluster another CorporateProxy, Rolling as well, and returns
// the Secret that it reads.
func (f *fixture) secondProxy(cluster string) *corev1.Secret {
	f.Helper()
	name, label := "second-"+f.namespace, map[string]string{"fairlead.test/second": f.namespace}
	source := f.source(name, map[string]string{"http": "http://second.example:3128"})
	f.proxy(name, rolling, func(p *v1alpha1.CorporateProxy) {
		p.Spec.Priority, p.Spec.ClusterSelector = 1, &metav1.LabelSelector{MatchLabels: label}
	})
	modify(f, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: cluster}}, func(c *clusterv1.Cluster) {
		maps.Copy(c.Labels, label)
	})
	return source
}

func TestAClusterWhoseNewMachinesDoNotComeUpKeepsTheOthersAsTheyAre(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--rollout-interval=1s")
	f.installRollout()
	f.exampleProxy(rolling)
	a, b := f.build("a"), f.build("b")
	f.changeSource("b", otherPassword("changed"))
	f.awaitRolled(a.owners[0], f.awaitNodes("a", 1, 1, 0, 0).Since)
	f.replaceByOneThatStaysDown(a, a.owners[0])
	report := f.awaitRollout("a", "waits: not all machines of KubeadmControlPlane a-cp are up to date and available")
	if report.Status.Rollout.After == nil || report.Status.Nodes.Outdated != 0 {
		t.Errorf("%+v, %+v", report.Status.Rollout, report.Status.Nodes)
	}
	f.machine("b", "another", nil) // for another look
	f.awaitNodes("b", 2, 1, 0, 0)
	f.awaitRollout("b", "waits for its turn")
	if got := f.after(b.owners[0]); got != (metav1.Time{}) {
		t.Errorf("the next has begun: %v", got)
	}

	f.comeUp(a.owners[0])
	f.must(f.client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: f.meta("another", "b")})) // for another look
	f.awaitRolled(b.owners[0], f.awaitNodes("b", 1, 1, 0, 0).Since)
}

func TestWithoutItsPermissionNothingIsRolledAndTheReportSaysWhatIsMissing(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--rollout-interval=1s")
	f.exampleProxy(rolling)
	a := f.build("a")
	f.changeSource("a", otherPassword("changed"))
	report := f.awaitRollout("a", "apply config/rollout")
	if report.Status.Rollout.After != nil || f.after(a.owners[0]) != (metav1.Time{}) {
		t.Error("it has begun")
	}
	if report := f.report("a", "Applied"); !hasCondition(report, v1alpha1.ConditionMachinesOutdated) {
		t.Error("the machines are not outdated any more")
	}

	// The permission without the policy that bounds it.
	f.must(f.client.Delete(t.Context(), rolloutBinding()))
	f.awaitRolloutPolicy(false)
	f.must(f.cp.ApplyFS(t.Context(), config.Rollout))
	f.machine("a", "another", nil) // for another look
	report = f.awaitRollout("a", "nothing would keep the operator from changing more than spec.rollout.after")
	if report.Status.Rollout.After != nil || f.after(a.owners[0]) != (metav1.Time{}) {
		t.Error("it has begun")
	}

	f.installRollout()
	f.awaitRolloutPolicy(true)
	f.machine("a", "a-third", nil) // for another look
	f.awaitRolled(a.owners[0], report.Status.Nodes.Since)
}

// awaitRolloutPolicy awaits that admission lets, or does not let, the operator's account
// do more to an owner than it needs, whatever RBAC says.
func (f *fixture) awaitRolloutPolicy(wanted bool) {
	f.Helper()
	named := f.cp.Admin()
	named.Impersonate = rest.ImpersonationConfig{UserName: operator.User, Groups: []string{"system:masters"}}
	thief, md := f.clientFor(named), f.deployment("none", fmt.Sprint("probe-", wanted))
	controlplanetest.Await(f, "the API server to notice", func(ctx context.Context) (bool, error) {
		err := thief.Patch(ctx, md, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":7}}`)), client.DryRunAll)
		is := apierrors.IsForbidden(err) && contains(err.Error(), "fairlead-operator-rollout")
		if !is && err != nil {
			return false, err
		}
		return holds(is == wanted, "it holds: %t", is)
	})
}

func TestAStolenTokenChangesNothingOfAnOwnerButWhenItRolls(t *testing.T) {
	f := newFixture(t)
	f.installRollout()
	f.awaitRolloutPolicy(true)
	kcp, md := f.controlPlane("c1"), f.deployment("c1", "c1-md")
	modify(f, md, func(md *clusterv1.MachineDeployment) {
		md.Labels["keep"], md.Annotations = "me", map[string]string{"keep": "me"}
		md.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.RollingUpdateMachineDeploymentStrategyType}
		md.Spec.Rollout.After = metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // it is allowed: no try fails for want of it
	})
	modify(f, kcp, func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Rollout.After = md.Spec.Rollout.After })
	thief, ctx := f.clientFor(f.operator.Config), t.Context()
	patch := func(owner client.Object, subresources ...string) func(string) error {
		return func(text string) error {
			object := owner.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of one
			p := client.RawPatch(types.MergePatchType, []byte(text))
			if len(subresources) > 0 {
				return thief.SubResource(subresources[0]).Patch(ctx, object, p)
			}
			return thief.Patch(ctx, object, p)
		}
	}
	const after = `"rollout":{"after":"2026-01-02T03:04:05Z"}`
	for name, try := range map[string]func() error{
		"commands of a control plane": func() error {
			return patch(kcp)(`{"spec":{"kubeadmConfigSpec":{"preKubeadmCommands":["id"]},` + after + `}}`)
		},
		"files of a control plane": func() error {
			return patch(kcp)(`{"spec":{"kubeadmConfigSpec":{"files":[{"path":"/x","content":"y"}]}}}`)
		},
		"its version":         func() error { return patch(kcp)(`{"spec":{"version":"v1.30.0"}}`) },
		"its replicas":        func() error { return patch(kcp)(`{"spec":{"replicas":1}}`) },
		"replicas":            func() error { return patch(md)(`{"spec":{"replicas":0,` + after + `}}`) },
		"a field that is new": func() error { return patch(md)(`{"spec":{"paused":true}}`) },
		"a field that goes":   func() error { return patch(md)(`{"spec":{"replicas":null}}`) },
		"the strategy":        func() error { return patch(md)(`{"spec":{"rollout":{"strategy":{"type":"OnDelete"}}}}`) },
		"no strategy": func() error {
			return patch(md)(`{"spec":{"rollout":{"after":"2026-01-02T03:04:05Z","strategy":null}}}`)
		},
		"the template":  func() error { return patch(md)(`{"spec":{"template":{"spec":{"version":"v1.30.0"}}}}`) },
		"a label":       func() error { return patch(md)(`{"metadata":{"labels":{"keep":"you"}}}`) },
		"no annotation": func() error { return patch(md)(`{"metadata":{"annotations":null}}`) },
		"an owner": func() error {
			return patch(md)(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`)
		},
		"a finalizer": func() error { return patch(md)(`{"metadata":{"finalizers":["a.example/b"]}}`) },
		"its scale":   func() error { return patch(md, "scale")(`{"spec":{"replicas":0}}`) },
		"its status":  func() error { return patch(md, "status")(`{"status":{"replicas":0}}`) },
		"delete it":   func() error { return thief.Delete(ctx, md.DeepCopy()) },
		"list them":   func() error { return thief.List(ctx, &clusterv1.MachineDeploymentList{}) },
		"patch a MachineSet": func() error {
			return thief.Patch(ctx, &clusterv1.MachineSet{ObjectMeta: f.meta("any", "c1")}, client.RawPatch(types.MergePatchType, []byte(`{}`)))
		},
		"delete a Machine":      func() error { return thief.Delete(ctx, &clusterv1.Machine{ObjectMeta: f.meta("any", "c1")}) },
		"loosen its other cage": func() error { return thief.Delete(ctx, rolloutBinding()) },
		"give itself more": func() error {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-rollout"}}
			return thief.Patch(ctx, role, client.RawPatch(types.MergePatchType, []byte(`{"rules":[]}`)))
		},
		"apply a new one": func() error {
			fresh := md.DeepCopy()
			fresh.ObjectMeta = f.meta("fresh", "c1")
			return thief.Create(ctx, fresh)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); !apierrors.IsForbidden(err) {
				t.Errorf("it was not forbidden: %v", err)
			}
		})
	}
	for _, owner := range []client.Object{kcp, md} {
		for _, text := range []string{`{"spec":{` + after + `}}`, `{"spec":{"rollout":{"after":"2026-01-02T03:04:06Z"}}}`} {
			if err := patch(owner)(text); err != nil {
				t.Errorf("%s: %v", owner.GetName(), err)
			}
		}
	}
	f.must(f.client.Get(ctx, f.key("c1-md"), md))
	if md.Labels["keep"] != "me" || *md.Spec.Replicas != 2 || md.Spec.Rollout.Strategy.Type == "" || !md.Spec.Rollout.After.Equal(ptr.To(metav1.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC))) {
		t.Errorf("%+v", md.Spec.Rollout)
	}
}
