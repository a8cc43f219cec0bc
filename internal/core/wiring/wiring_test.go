package wiring

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(encoded, &object.Object) // with whole numbers, as an API server's
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func deployment(cluster, name, kind, template string) clusterv1.MachineDeployment {
	d := clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: name}}
	d.Spec.ClusterName = cluster
	d.Spec.Template.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: kind, Name: template}
	return d
}

// workload returns a cluster of kubeadm that nobody has wired.
func workload(t *testing.T) Input {
	t.Helper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c1"}}
	c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{Kind: ControlPlane, Name: "cp"}
	replicas := int32(5)
	workers := deployment("c1", "workers", Template, "w")
	workers.Status.Replicas = &replicas
	report := &v1alpha1.ProxyReport{}
	report.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "True"}}
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "corp"}}
	proxy.Spec.Node = v1alpha1.NodeSettings{Files: []string{"EnvironmentFile"}, Base64Twins: true}
	return Input{
		Data: true, Nodes: true, Cluster: c, Deployments: []clusterv1.MachineDeployment{workers}, Report: report, Proxy: proxy, Delivers: true,
		Objects: map[Ref]*unstructured.Unstructured{
			{ControlPlane, "cp"}: parsed(t, "{kind: KubeadmControlPlane, metadata: {name: cp}, spec: {replicas: 3}, status: {replicas: 3}}"),
			{Template, "w"}:      parsed(t, "{kind: KubeadmConfigTemplate, metadata: {name: w}, spec: {template: {spec: {}}}}"),
		},
	}
}

const wiredFile = "{path: /etc/fairlead/proxy.env, contentFrom: {secret: {name: c1-systemd-proxy, key: environmentFile.base64}}}"

func TestEachObjectGetsItsLabelOrAReason(t *testing.T) {
	cp, w := Ref{ControlPlane, "cp"}, Ref{Template, "w"}
	for name, test := range map[string]struct {
		change func(*Input)
		ref    Ref
		state  State
		says   string // of Why and Do
	}{
		"the Cluster":         {nil, Ref{Cluster, "c1"}, Change, "is to bring"},
		"the control plane":   {nil, cp, Change, "is to add the files"},
		"the workers":         {nil, w, Change, "is to add the files"},
		"a Cluster with it":   {func(in *Input) { in.Cluster.Labels = map[string]string{v1alpha1.DeliverLabel: "c1"} }, Ref{Cluster, "c1"}, Wired, "brings"},
		"with another's name": {func(in *Input) { in.Cluster.Labels = map[string]string{v1alpha1.DeliverLabel: "c2"} }, Ref{Cluster, "c1"}, Left, "has to be the Cluster's own name"},
		"with an empty name":  {func(in *Input) { in.Cluster.Labels = map[string]string{v1alpha1.DeliverLabel: ""} }, Ref{Cluster, "c1"}, Left, "is empty"},
		"another has ours":    {func(in *Input) { in.Others = []string{"c2"} }, Ref{Cluster, "c1"}, Left, "c2"},
		"it is being deleted": {func(in *Input) { in.Cluster.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(1, 0).Time} }, cp, Left, "is being deleted"},
		"a topology's": {func(in *Input) {
			in.Objects[cp].SetLabels(map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""})
		}, cp, Left, "clusterclass.yaml"},
		"a topology's with the patch": {func(in *Input) {
			in.Objects[cp] = parsed(t, "{kind: KubeadmControlPlane, metadata: {labels: {topology.cluster.x-k8s.io/owned: ''}}, spec: {kubeadmConfigSpec: {files: ["+wiredFile+"]}}}")
		}, cp, Wired, "ClusterClass"},
		"by hand": {func(in *Input) {
			in.Objects[w] = parsed(t, "{kind: KubeadmConfigTemplate, spec: {template: {spec: {files: ["+wiredFile+"]}}}}")
		}, w, Wired, "by hand"},
		"labelled and wired": {func(in *Input) {
			in.Objects[w] = parsed(t, "{kind: KubeadmConfigTemplate, metadata: {labels: {fairlead.io/node-files: inject}}, spec: {template: {spec: {files: ["+wiredFile+"]}}}}")
		}, w, Wired, "label and the files"},
		"labelled before the policy was there": {func(in *Input) { in.Objects[w].SetLabels(map[string]string{FilesLabel: Inject}) }, w, Left, "renew-node-files"},
		"somebody said something else":         {func(in *Input) { in.Objects[w].SetLabels(map[string]string{FilesLabel: "ignore"}) }, w, Left, `"ignore"`},
		"of another Cluster":                   {func(in *Input) { in.Objects[w].SetLabels(map[string]string{clusterv1.ClusterNameLabel: "c2"}) }, w, Left, "template of its own"},
		"of two Clusters": {func(in *Input) {
			in.Deployments = append(in.Deployments, deployment("c2", "others", Template, "w"))
		}, w, Left, "Cluster c2 has it, too (MachineDeployment others)"},
		"with a drop-in of its own": {func(in *Input) {
			in.Objects[w] = parsed(t, "{kind: KubeadmConfigTemplate, spec: {template: {spec: {files: [{path: /etc/systemd/system/containerd.service.d/http-proxy.conf, content: S3CRET}]}}}}")
		}, w, Left, "migrating-from-drop-ins"},
		"with files of another Cluster": {func(in *Input) {
			in.Objects[w] = parsed(t, "{kind: KubeadmConfigTemplate, spec: {template: {spec: {files: ["+strings.ReplaceAll(wiredFile, "c1", "c2")+"]}}}}")
		}, w, Left, "of another Secret: c2-systemd-proxy"},
		"missing": {func(in *Input) { delete(in.Objects, w) }, w, Left, "not there"},
		"RKE2": {func(in *Input) {
			in.Cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{Kind: "RKE2ControlPlane", Name: "cp"}
		}, Ref{"RKE2ControlPlane", "cp"}, Left, "examples/nodes/rke2.yaml"},
		"Talos": {func(in *Input) { in.Deployments[0] = deployment("c1", "workers", "TalosConfigTemplate", "w") }, Ref{"TalosConfigTemplate", "w"}, Left, "machine configuration"},
		"managed": {func(in *Input) {
			in.Cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{Kind: "AWSManagedControlPlane", Name: "cp"}
		}, Ref{"AWSManagedControlPlane", "cp"}, Left, "the provider runs"},
		"an unknown kind":   {func(in *Input) { in.Deployments[0] = deployment("c1", "workers", "EKSConfigTemplate", "w") }, Ref{"EKSConfigTemplate", "w"}, Left, "by hand"},
		"data of their own": {func(in *Input) { in.Deployments[0] = deployment("c1", "workers", "", "") }, Ref{"MachineDeployment", "workers"}, Left, "data of their own"},
		"a pool": {func(in *Input) {
			pool := clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
			pool.Spec.ClusterName = "c1"
			in.Pools = []clusterv1.MachinePool{pool}
		}, Ref{"MachinePool", "p"}, Left, "a pool has none"},
	} {
		in := workload(t)
		if test.change != nil {
			test.change(&in)
		}
		objects := Decide(in)
		at := slices.IndexFunc(objects, func(o Object) bool { return o.Ref == test.ref })
		if at < 0 {
			t.Errorf("%s: nothing is said: %+v", name, objects)
			continue
		}
		if o := objects[at]; o.State != test.state || !strings.Contains(o.Why+o.Do, test.says) || (o.State == Change) != (len(o.Labels) > 0) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestOnlyWhatIsAskedForIsDecided(t *testing.T) {
	for _, test := range []struct{ data, nodes bool }{{true, false}, {false, true}} {
		in := workload(t)
		in.Data, in.Nodes = test.data, test.nodes
		for _, o := range Decide(in) {
			if (o.Kind == Cluster) != test.data {
				t.Errorf("data %t, nodes %t: %+v", test.data, test.nodes, o)
			}
		}
	}
}

// answered has the policy add a file to whatever gets the label.
func answered(t *testing.T, in Input, file string) map[Ref]Answer {
	t.Helper()
	answers := map[Ref]Answer{}
	for _, o := range Decide(in) {
		before := in.Objects[o.Ref]
		if o.Kind == Cluster {
			before = &unstructured.Unstructured{Object: map[string]any{"kind": Cluster}}
		}
		after := before.DeepCopy()
		after.SetLabels(o.Labels)
		fields := []string{"spec", "template", "spec"}
		if o.Kind == ControlPlane {
			fields = []string{"spec", "kubeadmConfigSpec"}
		}
		if o.Kind != Cluster && file != "" {
			config := parsed(t, "{files: ["+file+"], preKubeadmCommands: ['systemctl daemon-reload # fairlead.io/node-files', mount my-S3CRET]}")
			if err := unstructured.SetNestedMap(after.Object, config.Object, fields...); err != nil {
				t.Fatal(err)
			}
		}
		answers[o.Ref] = Answer{Before: before, After: after}
	}
	return answers
}

func judged(in Input, answers map[Ref]Answer, kind string) (Object, Result) {
	r := Judge(in, Decide(in), answers)
	return r.Objects[slices.IndexFunc(r.Objects, func(o Object) bool { return o.Kind == kind })], r
}

func TestItIsSaidHowManyMachinesAreReplaced(t *testing.T) {
	in := workload(t)
	answers := answered(t, in, wiredFile)
	cp, r := judged(in, answers, ControlPlane)
	if cp.State != Change || cp.Replaces != 3 || !strings.HasSuffix(cp.Why, "its machines are replaced: 3") || !r.Changes() {
		t.Errorf("%+v", cp)
	}
	want := []string{
		"+ metadata.labels[cluster.x-k8s.io/cluster-name]: c1",
		"+ metadata.labels[fairlead.io/node-files]: inject",
		"+ spec.kubeadmConfigSpec.files: /etc/fairlead/proxy.env from Secret c1-systemd-proxy, environmentFile.base64",
		"+ spec.kubeadmConfigSpec.preKubeadmCommands: systemctl daemon-reload # fairlead.io/node-files",
		"+ spec.kubeadmConfigSpec.preKubeadmCommands: one (its content is not shown)",
	}
	if !slices.Equal(cp.Diff, want) {
		t.Errorf("%q", cp.Diff)
	}
	if w, _ := judged(in, answers, Template); w.State != Change || w.Replaces != 0 {
		t.Errorf("%+v", w)
	}
	if len(r.Remains) != 2 || !strings.Contains(r.Remains[0], "install fairlead-policies") || !strings.Contains(r.Remains[1], "machinedeployment/workers --namespace org") {
		t.Errorf("%q", r.Remains)
	}
	paused := true
	in.Cluster.Spec.Paused = &paused
	if cp, _ := judged(in, answers, ControlPlane); !strings.HasSuffix(cp.Why, "once the Cluster is not paused any more") {
		t.Errorf("%+v", cp)
	}
}

func TestALabelThatDoesNoGoodIsNotWritten(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Input)
		file   string
		says   string
	}{
		"the policy adds nothing":       {nil, "", "would add nothing"},
		"a file that is nobody's":       {nil, "{path: /etc/own.env, content: S3CRET}", "would add nothing"},
		"no twins are requested":        {func(in *Input) { in.Proxy.Spec.Node.Base64Twins = false }, wiredFile, "CorporateProxy corp does not request: environmentFile.base64"},
		"no file is requested":          {func(in *Input) { in.Proxy.Spec.Node.Files = nil }, wiredFile, "does not request"},
		"no relay is requested":         {nil, strings.ReplaceAll(wiredFile, "environmentFile", "relaySettings"), "relaySettings.base64"},
		"no program is requested":       {func(in *Input) { in.Proxy.Spec.Node.Delivery = "Relay" }, strings.ReplaceAll(wiredFile, "environmentFile", "relayInstallService"), "relayInstallService"},
		"a report that cannot be read":  {func(in *Input) { in.Unread = map[Source]string{SourceReport: "no right"} }, wiredFile, "may not have: no right"},
		"a proxy that cannot be read":   {func(in *Input) { in.Unread, in.Proxy = map[Source]string{SourceProxy: "no right"}, nil }, wiredFile, "may not have: no right"},
		"no CorporateProxy":             {func(in *Input) { in.Proxy = nil }, wiredFile, "no CorporateProxy is for the Cluster"},
		"a change that is not yet seen": {func(in *Input) { in.Proxy.Generation = 2 }, wiredFile, "newest CorporateProxy corp"},
		"a revision of before": {func(in *Input) {
			in.Proxy.Status.Rollout = &v1alpha1.RolloutStatus{Revision: 3}
			in.Report.Status.Revision = &v1alpha1.ReportedRevision{Number: 2}
		}, wiredFile, "does not have revision 3"},
		"no certificate is requested": {nil, strings.ReplaceAll(wiredFile, "environmentFile", "trustedCA"), "trustedCA.base64"},
	} {
		in := workload(t)
		if test.change != nil {
			test.change(&in)
		}
		for _, kind := range []string{ControlPlane, Template} {
			o, r := judged(in, answered(t, in, test.file), kind)
			if o.State != Left || !strings.Contains(o.Why, test.says) || o.Do == "" || len(o.Labels)+len(o.Diff) > 0 {
				t.Errorf("%s: %+v", name, o)
			}
			if len(r.Remains) > 1 {
				t.Errorf("%s: %q", name, r.Remains)
			}
		}
	}
}

func TestWhatTheAPIServerRefusesIsLeft(t *testing.T) {
	in := workload(t)
	answers := answered(t, in, wiredFile)
	answers[Ref{Template, "w"}] = Answer{Refused: "spec is immutable"}
	if o, r := judged(in, answers, Template); o.State != Left || !strings.Contains(o.Why, "spec is immutable") || !r.Changes() {
		t.Errorf("%+v", o)
	}
}

func TestWhatRemainsIsSaid(t *testing.T) {
	in := workload(t)
	in.Delivers, in.Report, in.Proxy = false, nil, nil
	_, r := judged(in, answered(t, in, wiredFile), Cluster)
	for i, want := range []string{"has no ProxyReport", "Nobody delivers yet", "install fairlead-policies"} {
		if len(r.Remains) != 3 || !strings.Contains(r.Remains[i], want) {
			t.Fatalf("%q", r.Remains)
		}
	}
	in.Unread = map[Source]string{SourceReport: "no right", SourceDeliver: "no right"}
	if _, r := judged(in, answered(t, in, wiredFile), Cluster); len(r.Remains) != 1 || len(r.NotLookedAt) != 2 {
		t.Errorf("%q, %q", r.Remains, r.NotLookedAt)
	}
	in = workload(t)
	in.Report.Status.Conditions[0].Status = "False"
	in.Report.Status.Observed = &v1alpha1.Observed{}
	if _, r := judged(in, answered(t, in, wiredFile), Cluster); len(r.Remains) != 1 || !strings.Contains(r.Remains[0], "doctor cluster --namespace org c1") {
		t.Errorf("%q", r.Remains)
	}
}

// Machine templates may have passwords.
func TestADiffShowsNoValueOfOthers(t *testing.T) {
	before := parsed(t, "{metadata: {labels: {a: b}}, spec: {users: [{passwd: S3CRET}], x: S3CRET, gone: [S3CRET], order: [a, b], m: {k: S3CRET}}}")
	after := parsed(t, "{metadata: {labels: {a: c}}, spec: {users: [{passwd: S3CRET2}], x: S3CRET2, order: [b, a], new: {k: [S3CRET]}}}")
	lines := diff(before, after)
	want := []string{
		"+ metadata.labels[a]: c",
		"- spec.gone: one (its content is not shown)",
		"~ spec.m.k (its content is not shown)",
		"+ spec.new.k: one (its content is not shown)",
		"~ spec.order: in another order",
		"+ spec.users: one (its content is not shown)",
		"- spec.users: one (its content is not shown)",
		"~ spec.x (its content is not shown)",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	if lines := diff(before, before); len(lines) != 0 {
		t.Errorf("%q", lines)
	}
}
