package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	"github.com/fairlead-io/fairlead/e2e/rights"
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

// after returns spec.rollout.after of an owner, and replicas its spec.replicas.
func (f *fixture) after(owner client.Object) metav1.Time {
	f.Helper()
	f.must(f.client.Get(f.Context(), client.ObjectKeyFromObject(owner), owner))
	if kcp, is := owner.(*controlplanev1.KubeadmControlPlane); is {
		return kcp.Spec.Rollout.After
	}
	return owner.(*clusterv1.MachineDeployment).Spec.Rollout.After
}

func replicas(owner client.Object) int32 {
	if kcp, is := owner.(*controlplanev1.KubeadmControlPlane); is {
		return *kcp.Spec.Replicas
	}
	return *owner.(*clusterv1.MachineDeployment).Spec.Replicas
}

// awaitRolled awaits that an owner is told to replace what is older than since.
func (f *fixture) awaitRolled(owner client.Object, since *metav1.Time) {
	f.Helper()
	controlplanetest.Await(f, "rollout of "+owner.GetName(), func(context.Context) (bool, error) {
		after := f.after(owner)
		return controlplanetest.Holds(after.Equal(since), "it is %v, since is %v", after, since)
	})
}

// replace does what Cluster API would: a new machine, which comes up, and the old one goes.
func (f *fixture) replace(b built, owner client.Object) {
	f.Helper()
	patch := fmt.Sprintf(`{"status":{"replicas":%[1]d,"upToDateReplicas":%[1]d,"availableReplicas":%[1]d}}`, replicas(owner))
	f.must(f.client.Status().Patch(f.Context(), owner, mergePatch(patch)))
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
	events, err := f.cp.AuditEvents(mark, controlplane.Writes, controlplane.ByUser(operator.User), rights.IsReal, func(e auditv1.Event) bool {
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
	f.changeSource("a", otherOrder)
	c := f.build("c")
	other := f.secondProxy("c")
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
	f.setSource(other, otherPassword("third"))
	f.awaitRolled(c.owners[0], f.awaitNodes("c", 1, 1, 0, 0).Since)
	if got := f.ownerPatches(mark); !slices.Equal(got, []string{"c-cp", "c-cp"}) {
		t.Errorf("with Never, rolled %q", got)
	}
}

// secondProxy gives a cluster another CorporateProxy, Rolling as well, and returns its name.
func (f *fixture) secondProxy(cluster string) string {
	f.Helper()
	const key = "fairlead.test/second"
	name := "second-" + f.namespace
	f.source(name, map[string]string{"http": "http://second.example:3128"})
	f.proxy(name, rolling, func(p *v1alpha1.CorporateProxy) {
		p.Spec.Priority, p.Spec.ClusterSelector = 1, &metav1.LabelSelector{MatchLabels: map[string]string{key: f.namespace}}
	})
	modify(f, &clusterv1.Cluster{ObjectMeta: f.named(cluster)}, label(key, f.namespace))
	return name
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
	if report := f.report("a", "Applied"); !meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionMachinesOutdated) {
		t.Error("the machines are not outdated any more")
	}

	// The permission without the policy that bounds it.
	f.must(f.client.Delete(t.Context(), binding("fairlead-operator-rollout")))
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
		err := thief.Patch(ctx, md, mergePatch(`{"spec":{"replicas":7}}`), client.DryRunAll)
		is := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "fairlead-operator-rollout")
		return controlplanetest.Holds(is == wanted && (is || err == nil), "it holds: %t (%v)", is, err)
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
	try := func(owner client.Object, patch string) error {
		object := owner.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of one
		return thief.Patch(ctx, object, mergePatch(patch))
	}
	const after = `"rollout":{"after":"2026-01-02T03:04:05Z"}`
	wantForbidden(t, map[string]error{
		"commands of a control plane": try(kcp, `{"spec":{"kubeadmConfigSpec":{"preKubeadmCommands":["id"]},`+after+`}}`),
		"files of a control plane":    try(kcp, `{"spec":{"kubeadmConfigSpec":{"files":[{"path":"/x","content":"y"}]}}}`),
		"its version":                 try(kcp, `{"spec":{"version":"v1.30.0"}}`),
		"its replicas":                try(kcp, `{"spec":{"replicas":1}}`),
		"replicas":                    try(md, `{"spec":{"replicas":0,`+after+`}}`),
		"a field that is new":         try(md, `{"spec":{"paused":true}}`),
		"a field that goes":           try(md, `{"spec":{"replicas":null}}`),
		"the strategy":                try(md, `{"spec":{"rollout":{"strategy":{"type":"OnDelete"}}}}`),
		"no strategy":                 try(md, `{"spec":{"rollout":{"after":"2026-01-02T03:04:05Z","strategy":null}}}`),
		"the template":                try(md, `{"spec":{"template":{"spec":{"version":"v1.30.0"}}}}`),
		"a label":                     try(md, `{"metadata":{"labels":{"keep":"you"}}}`),
		"no annotation":               try(md, `{"metadata":{"annotations":null}}`),
		"an owner":                    try(md, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`),
		"a finalizer":                 try(md, `{"metadata":{"finalizers":["a.example/b"]}}`),
	})
	for _, owner := range []client.Object{kcp, md} {
		for _, text := range []string{`{"spec":{` + after + `}}`, `{"spec":{"rollout":{"after":"2026-01-02T03:04:06Z"}}}`} {
			if err := try(owner, text); err != nil {
				t.Errorf("%s: %v", owner.GetName(), err)
			}
		}
	}
	f.must(f.client.Get(ctx, f.key("c1-md"), md))
	if md.Labels["keep"] != "me" || *md.Spec.Replicas != 2 || md.Spec.Rollout.Strategy.Type == "" || !md.Spec.Rollout.After.Equal(ptr.To(metav1.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC))) {
		t.Errorf("%+v", md.Spec.Rollout)
	}
}

// Every change of an owner comes after a write that may change nothing.
func TestAWriteThatChangesNothingIsRefusedWhereTheReportIsAnother(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	report := f.report("c1", "Applied")
	same := func(version string) error {
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"mode":%q}}`, version, report.Status.Mode)
		return f.client.Status().Patch(t.Context(), report.DeepCopy(), mergePatch(patch))
	}
	f.must(same(report.ResourceVersion))
	f.must(f.client.Status().Patch(t.Context(), report.DeepCopy(), mergePatch(`{"status":{"rollout":{"started":"2026-01-02T03:05:05Z"}}}`)))
	if err := same(report.ResourceVersion); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
}

func TestWhatATopologyKeepsIsNotRolled(t *testing.T) {
	f := newFixture(t)
	f.installRollout()
	f.awaitRolloutPolicy(true)
	f.exampleProxy(rolling)
	a, b := f.build("a"), f.build("b")
	keep := objectOf(controlplanev1.GroupVersion.String(), "KubeadmControlPlane", f.namespace, "a-cp")
	f.must(unstructured.SetNestedField(keep.Object, "2026-01-02T03:04:05Z", "spec", "rollout", "after"))
	f.must(f.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(keep), client.FieldOwner("capi-topology")))
	f.changeSource("b", otherPassword("changed"))
	f.awaitRollout("a", `not rolled by Fairlead: KubeadmControlPlane a-cp, whose spec.rollout.after is kept by "capi-topology"`)
	f.awaitRolled(b.owners[0], f.awaitNodes("b", 1, 1, 0, 0).Since)
	if got := f.after(a.owners[0]); got.Year() != 2026 || got.Month() != time.January {
		t.Errorf("it was overwritten: %v", got)
	}
}
