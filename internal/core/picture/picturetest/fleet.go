// Package picturetest makes fleets for tests, in which everything is wrong that can be shown.
package picturetest

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Fleet has so many clusters, of which one in a hundred is in error.
func Fleet(clusters int, now time.Time) (reports []v1alpha1.ProxyReport, proxies []v1alpha1.CorporateProxy, metadata []metav1.ObjectMeta) {
	for i := range clusters {
		report := Report(i, now)
		reports = append(reports, report)
		metadata = append(metadata, metav1.ObjectMeta{Namespace: report.Namespace, Name: report.Name, Generation: 1})
	}
	return reports, []v1alpha1.CorporateProxy{waves(clusters, now), plain(clusters, now)}, metadata
}

func ago(now time.Time, d time.Duration) metav1.Time {
	return metav1.NewTime(now.Add(-d).UTC().Truncate(time.Second))
}

var (
	places    = []string{"frankfurt", "paris", "madrid", "warsaw", "dublin", "lisbon", "vienna"}
	providers = []string{"AWSCluster", "AzureCluster", "VSphereCluster", "OpenStackCluster"}
)

// Report returns the report of one cluster. The number says what is wrong with it.
func Report(i int, now time.Time) v1alpha1.ProxyReport {
	r := v1alpha1.ProxyReport{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ProxyReport"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-" + places[i%7], Name: fmt.Sprintf("%s-%04d", places[i%7], i), UID: types.UID(fmt.Sprintf("uid-%d", i))},
	}
	since := ago(now, 30*24*time.Hour)
	r.Status = v1alpha1.ProxyReportStatus{
		Mode: "Proxied", ProxyName: "europe", Form: "Portable/v2", Cluster: v1alpha1.ReportedCluster{Generation: 1},
		NoProxy: v1alpha1.ReportedNoProxy{
			Any:     "100.64.0.0/13,10.96.0.1,10.96.0.0/12,127.0.0.1,172.16.0.0/16,::1,.cluster.local,example.com,.example.com,localhost,.svc",
			Go:      "10.96.0.0/12,100.64.0.0/13,127.0.0.1,172.16.0.0/16,::1,.cluster.local,.example.com,localhost,.svc",
			Entries: 9, Digest: fmt.Sprintf("sha256:%064d", i),
		},
		Entries: []v1alpha1.ReportedEntry{
			{Value: "100.64.0.0/13", Source: "PodCIDR", Field: "spec.clusterNetwork.pods.cidrBlocks[0]"},
			{Value: "10.96.0.0/12", Source: "ServiceCIDR", Field: "spec.clusterNetwork.services.cidrBlocks[0]"},
			{Value: "127.0.0.1", Source: "Builtin"},
			{Value: "::1", Source: "Builtin"},
			{Value: "localhost", Source: "Builtin"},
			{Value: ".svc", Source: "Builtin"},
			{Value: ".cluster.local", Source: "ServiceDomain", Field: "spec.clusterNetwork.serviceDomain"},
		},
		EntryCounts: map[string]int32{"Installation": 2, "PodCIDR": 1, "ServiceCIDR": 1, "Builtin": 4, "ServiceDomain": 1},
		Facts:       &v1alpha1.ReportedFacts{Kind: providers[i%4], Name: r.Name, Version: "Facts/v1", Source: "Facts/v1"},
		Nodes: &v1alpha1.ReportedNodes{HMAC: fmt.Sprintf("%064d", i), Machines: 20, Since: &since, Owners: []v1alpha1.ReportedOwner{
			{Kind: "KubeadmControlPlane", Name: "cp", Machines: 3}, {Kind: "MachineDeployment", Name: "md-0", Machines: 17},
		}},
		Secrets: []v1alpha1.SecretRecord{
			{Role: "cluster-values", Name: r.Name + "-cluster-values", UID: "1", HMAC: fmt.Sprintf("%064d", i), Written: &since},
			{Role: "systemd-proxy", Name: r.Name + "-systemd-proxy", UID: "2", HMAC: fmt.Sprintf("%064d", i), Written: &since},
		},
		Revision:   &v1alpha1.ReportedRevision{Proxy: "europe", Number: 7, Digest: fmt.Sprintf("%064d", 7)},
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonApplied, "through CorporateProxy europe", since)},
	}
	spoil(&r, i, now)
	return r
}

func condition(kind string, status metav1.ConditionStatus, reason, message string, since metav1.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: since, ObservedGeneration: 1}
}

// spoil makes something wrong with some.
func spoil(r *v1alpha1.ProxyReport, i int, now time.Time) {
	all := &r.Status.Conditions
	since := ago(now, time.Duration(i%96+1)*time.Hour)
	switch {
	case i%7 == 5:
		r.Status.ProxyName, r.Status.Revision = "plain", nil
	case i%100 == 17:
		(*all)[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRefused, `Secret `+r.Name+`-systemd-proxy: admission webhook "policy.example" denied the request`, since)
	case i%250 == 33:
		(*all)[0] = condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "InvalidOverride", "ProxyOverride "+r.Namespace+"/"+r.Name+": spec.noProxy[0].value: <b>10.0.0.0/33</b>: not a network", since)
		r.Status.Refusals, r.Status.RefusalCount = []string{"spec.noProxy[0].value: <b>10.0.0.0/33</b>: not a network"}, 1
	case i%20 == 4:
		r.Status.Nodes.Outdated, r.Status.Nodes.Owners[1].Outdated = 8, 8
		*all = append(*all, condition(v1alpha1.ConditionMachinesOutdated, metav1.ConditionTrue, v1alpha1.ReasonBuiltBefore, "8 of 20 machines were created before", since))
	case i%50 == 9:
		*all = append(*all, condition(v1alpha1.ConditionEgressVerified, metav1.ConditionUnknown, v1alpha1.ReasonStale, "the last observation is older than two periods", since))
	case i%25 == 11:
		*all = append(*all, condition(v1alpha1.ConditionHeld, metav1.ConditionTrue, v1alpha1.ReasonWaitsForWave, "the ProxyOverride changed", since))
	}
}

// waves returns a CorporateProxy in the middle of a rollout.
func waves(clusters int, now time.Time) v1alpha1.CorporateProxy {
	started, expiry, n := ago(now, 40*time.Minute), ago(now, -(21*24+12)*time.Hour), int32(clusters)
	p := v1alpha1.CorporateProxy{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CorporateProxy"}, ObjectMeta: metav1.ObjectMeta{Name: "europe"}}
	p.Spec.Rollout = &v1alpha1.Rollout{Waves: []v1alpha1.Wave{{Name: "canary"}, {Name: "rest"}}}
	p.Status = v1alpha1.CorporateProxyStatus{
		Clusters: n, TrustedCAExpiry: &expiry,
		Rollout: &v1alpha1.RolloutStatus{Revision: 8, Wave: "rest", Updated: n / 3, Of: n, InProgress: 10, Started: &started, Message: "wave rest gets revision 8"},
		Credentials: []v1alpha1.CredentialsStatus{
			{Fingerprint: "new", Revision: 8, Clusters: n / 3}, {Fingerprint: "old", Revision: 7, Clusters: n - n/3, Namespaces: 12, Relays: 3, Pods: 41},
		},
		Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "", started),
			condition(v1alpha1.ConditionTrustedCA, metav1.ConditionTrue, v1alpha1.ReasonExpiresSoon, "CN=corp expires", started),
			condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRollingOut, "wave rest gets revision 8", started),
		},
	}
	return p
}

// plain is one without rollouts.
func plain(clusters int, now time.Time) v1alpha1.CorporateProxy {
	p := v1alpha1.CorporateProxy{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CorporateProxy"}, ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	p.Status = v1alpha1.CorporateProxyStatus{
		Clusters:   int32(clusters / 7),
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "", ago(now, time.Hour))},
	}
	return p
}
