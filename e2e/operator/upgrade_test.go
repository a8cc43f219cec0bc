package operator_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// filled has the data that an upgrade must leave as it is.
type filled struct {
	Data  map[string]map[string][]byte       // of Secrets and ConfigMaps
	Nodes map[string]*v1alpha1.ReportedNodes // by cluster
}

func (f *fixture) filled() (filled, map[string]string) {
	f.Helper()
	state, versions := filled{map[string]map[string][]byte{}, map[string]*v1alpha1.ReportedNodes{}}, map[string]string{}
	secrets, plain, reports := &corev1.SecretList{}, &corev1.ConfigMapList{}, &v1alpha1.ProxyReportList{}
	for _, list := range []client.ObjectList{secrets, plain, reports} {
		f.must(f.client.List(f.Context(), list, client.InNamespace(f.namespace)))
	}
	for _, secret := range secrets.Items {
		state.Data[secret.Name], versions[secret.Name] = secret.Data, secret.ResourceVersion
	}
	for _, configMap := range plain.Items {
		if configMap.Name != "kube-root-ca.crt" {
			state.Data["configmap "+configMap.Name] = map[string][]byte{"values": []byte(configMap.Data["values"])}
			versions["configmap "+configMap.Name] = configMap.ResourceVersion
		}
	}
	for _, report := range reports.Items {
		state.Nodes[report.Name] = report.Status.Nodes
		for _, record := range report.Status.Secrets {
			if record.Reverts != 0 {
				f.Errorf("%s: the operator takes its own write for somebody else's: %+v", report.Name, record)
			}
		}
	}
	return state, versions
}

// fillForUpgrade makes clusters of every kind, with machines.
func (f *fixture) fillForUpgrade() (clusters []string) {
	f.Helper()
	for kind, change := range map[string]func(*v1alpha1.CorporateProxy){
		"exact":    func(*v1alpha1.CorporateProxy) {},
		"portable": newestForm,
		"plain":    func(p *v1alpha1.CorporateProxy) { p.Spec.Form, p.Spec.ClusterValues.ConfigMap = "", true },
		"node": func(p *v1alpha1.CorporateProxy) {
			p.Spec.Form, p.Spec.Node.Units = "", []string{"docker.service"}
			p.Spec.Delegation.Direct = "Allowed"
		},
		"url": func(p *v1alpha1.CorporateProxy) {
			p.Spec.Form = ""
			p.Spec.Source = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{
				HTTP: "http://proxy.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "credentials-" + f.namespace},
			}}
		},
	} {
		f.source(kind+"-"+f.namespace, example())
		f.proxy(kind+"-"+f.namespace, change, func(p *v1alpha1.CorporateProxy) { p.Spec.ClusterSelector.MatchLabels["kind"] = kind })
		f.cluster(kind, label("kind", kind))
		clusters = append(clusters, kind)
	}
	f.source("credentials-"+f.namespace, map[string]string{"username": "me", "password": "S3cret$$%"})
	f.cluster("unproxied", func(c *clusterv1.Cluster) { c.Labels = nil })
	f.cluster("direct", label("kind", "node"))
	f.override("direct", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	return append(clusters, "unproxied", "direct")
}

// blank is the Secret for machines of a cluster that nothing selects, which an upgrade may give further blank keys.
const blank = "unproxied-systemd-proxy"

// A new version changes no Secret by itself, and no machine becomes outdated: neither when it starts, nor when Secrets
// are applied again in time, nor when it starts once more.
func TestAnUpgradeChangesNoSecretAndOutdatesNoMachine(t *testing.T) {
	tier.Full(t)
	source, program, err := tools.Earlier(t.Context(), tools.EarlierCommit)
	controlplanetest.Require(t, err)
	t.Parallel()
	cp := controlplanetest.Start(t, controlplane.Options{})
	install(t, cp)
	f := fixtureOn(t, cp, nil)
	f.must(cp.ApplyFS(t.Context(), os.DirFS(filepath.Join(source, "config"))))
	start := func(program string, args ...string) {
		t.Helper()
		o, err := operator.Start(t.Context(), cp, operator.Options{Program: program, Args: append([]string{"--leader-elect=false"}, args...)})
		f.must(err)
		f.operator = o
	}
	start(program)
	clusters := f.fillForUpgrade()
	for _, cluster := range clusters {
		f.report(cluster, "Applied")
		f.nextSecondOf(f.machine(cluster, cluster+"-old", nil).CreationTimestamp)
	}
	// One change, so that machines are outdated and others are not.
	f.setSource("exact-"+f.namespace, func(data map[string][]byte) { data["noProxy"] = []byte("changed.example") })
	since := f.awaitNodes("exact", 1, 1, 0, 0).Since
	controlplanetest.Await(t, "a moment after the change", func(context.Context) (bool, error) {
		return controlplanetest.Holds(!time.Now().Before(since.Time), "it is of %s", since)
	})
	f.machine("exact", "exact-new", nil)
	f.awaitNodes("exact", 2, 1, 0, 0)
	for _, cluster := range clusters[1:] {
		if cluster != "exact" {
			f.awaitReport(cluster, "one machine", func(r *v1alpha1.ProxyReport) bool { return r.Status.Nodes != nil && r.Status.Nodes.Machines == 1 })
		}
	}
	f.must(f.operator.Stop())
	want, versions := f.filled()

	f.must(cp.ApplyFS(t.Context(), config.Files))
	start("")
	f.awaitReconciled(float64(len(clusters)))
	_, now := f.filled()
	now[blank] = versions[blank]
	if !maps.Equal(now, versions) {
		t.Errorf("the new version writes when it starts: %s", diff.Diff(versions, now))
	}
	f.must(f.operator.Stop())

	start("", "--reapply-interval=2s")
	for _, cluster := range clusters {
		f.awaitReport(cluster, "a second owner of both Secrets", func(r *v1alpha1.ProxyReport) bool {
			return len(r.Status.Secrets) == 2 && r.Status.Secrets[0].OwnedByCluster && r.Status.Secrets[1].OwnedByCluster
		})
	}
	f.must(f.operator.Stop())
	start("")
	f.awaitReconciled(float64(len(clusters)))
	got, _ := f.filled()
	maps.DeleteFunc(got.Data[blank], func(key string, _ []byte) bool { return want.Data[blank][key] == nil })
	if different := diff.Diff(want, got); different != "" {
		t.Errorf("an upgrade changes what there is: %s", different)
	}
	for _, cluster := range clusters {
		f.awaitReport(cluster, "Applied, with no outdated machine that was not before", func(r *v1alpha1.ProxyReport) bool {
			return readyReason(r) == "Applied" && (r.Status.Nodes == nil || r.Status.Nodes.Outdated == 0 || cluster == "exact")
		})
	}
}

// awaitReconciled awaits that this operator has reconciled so often without error since it started, and rests.
func (f *fixture) awaitReconciled(atLeast float64) {
	f.Helper()
	controlplanetest.Await(f, "reconciles", func(ctx context.Context) (bool, error) {
		page, err := f.operator.Metrics(ctx)
		done := process.Sum(page, `controller_runtime_reconcile_total{controller="cluster",result="requeue_after"}`)
		active := process.Sum(page, `controller_runtime_active_workers{controller="cluster"}`)
		depth := process.Sum(page, `workqueue_depth{controller="cluster",name="cluster",priority="0"}`) +
			process.Sum(page, `workqueue_depth{controller="cluster",name="cluster",priority="-100"}`)
		is := err == nil && done >= atLeast && active == 0 && depth == 0
		return controlplanetest.Holds(is, "%v reconciles, %v active, %v queued (%v)", done, active, depth, err)
	})
}
