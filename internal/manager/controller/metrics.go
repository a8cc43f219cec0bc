package controller

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/cluster"
)

var reportsDesc = prometheus.NewDesc("fairlead_reports",
	"ProxyReports, by mode and reason of the condition Ready.", []string{"mode", "reason"}, nil)

var reportConditionsDesc = prometheus.NewDesc("fairlead_report_conditions",
	"ProxyReports, by condition and its status.", []string{"type", "status"}, nil)

var conditionSinceDesc = prometheus.NewDesc("fairlead_report_condition_since_timestamp_seconds",
	"When the ProxyReport that has this condition and status the longest got it.", []string{"type", "status"}, nil)

var (
	outdatedMachinesDesc = prometheus.NewDesc("fairlead_outdated_machines",
		"Machines created before their proxy settings last changed, by Cluster.", []string{"namespace", "cluster"}, nil)
	outdatedPoolsDesc = prometheus.NewDesc("fairlead_outdated_machine_pools",
		"MachinePools created before their proxy settings last changed, by Cluster.", []string{"namespace", "cluster"}, nil)
	expiryDesc = prometheus.NewDesc("fairlead_trusted_ca_expiry_timestamp_seconds",
		"When the first certificate of a CorporateProxy's trusted CA expires.", []string{"proxy"}, nil)
	nextEndDesc = prometheus.NewDesc("fairlead_exception_next_end_timestamp_seconds",
		"When the next entry of a CorporateProxy ends, or the next ProxyOverride of its clusters, or an entry of one. Absent if nothing ends.", []string{"proxy"}, nil)
	proxyConditionDesc = prometheus.NewDesc("fairlead_corporateproxy_condition",
		"1 for each condition of a CorporateProxy, by its status.", []string{"proxy", "type", "status"}, nil)
	rolloutClustersDesc = prometheus.NewDesc("fairlead_rollout_clusters",
		"Clusters by CorporateProxy and the revision that they have. Only CorporateProxies with spec.rollout.", []string{"proxy", "revision"}, nil)
	rolloutHaltedDesc = prometheus.NewDesc("fairlead_rollout_halted_timestamp_seconds",
		"When the rollout of a CorporateProxy was halted. Absent while it is not.", []string{"proxy"}, nil)
	rolloutDurationDesc = prometheus.NewDesc("fairlead_rollout_duration_seconds",
		"From the start of the last rollout of a CorporateProxy until the last cluster had the revision. Absent while it goes on.", []string{"proxy", "revision"}, nil)
)

// fleetCollector counts the reports, and what they and the CorporateProxies say, at each scrape, from the cache. The leader
// alone does: the sum over replicas would count the fleet several times.
type fleetCollector struct {
	reader  client.Reader
	elected <-chan struct{}
	now     func() time.Time
}

// Describe implements prometheus.Collector.
func (c fleetCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		expiryDesc, nextEndDesc, proxyConditionDesc, rolloutClustersDesc, rolloutHaltedDesc, rolloutDurationDesc,
		reportsDesc, reportConditionsDesc, conditionSinceDesc, outdatedMachinesDesc, outdatedPoolsDesc,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c fleetCollector) Collect(ch chan<- prometheus.Metric) {
	if !leads(c.elected) {
		return
	}
	proxies, reports := &v1alpha1.CorporateProxyList{}, &v1alpha1.ProxyReportList{}
	for _, list := range []client.ObjectList{proxies, reports} {
		if err := c.reader.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
			ch <- prometheus.NewInvalidMetric(reportsDesc, err)
			return
		}
	}
	collectProxies(ch, proxies.Items, reports.Items, c.now())
	collectReports(ch, reports.Items)
}

// collectProxies: one without a CA has no expiry.
func collectProxies(ch chan<- prometheus.Metric, proxies []v1alpha1.CorporateProxy, reports []v1alpha1.ProxyReport, now time.Time) {
	ends := overrideEnds(reports, now)
	for i := range proxies {
		name, status := proxies[i].Name, &proxies[i].Status
		for _, condition := range status.Conditions {
			ch <- gauge(proxyConditionDesc, 1, name, condition.Type, string(condition.Status))
		}
		if expiry := status.TrustedCAExpiry; expiry != nil {
			ch <- gauge(expiryDesc, float64(expiry.Unix()), name)
		}
		if next := sooner(coming(status.NextEnd, now), ends[name]); next != nil {
			ch <- gauge(nextEndDesc, float64(next.Unix()), name)
		}
		collectRollout(ch, name, status)
	}
}

// overrideEnds returns the next ends of ProxyOverrides, by the CorporateProxy of their clusters.
func overrideEnds(reports []v1alpha1.ProxyReport, now time.Time) map[string]*metav1.Time {
	ends := map[string]*metav1.Time{}
	for i := range reports {
		if status := &reports[i].Status; status.Override != nil {
			ends[status.ProxyName] = sooner(ends[status.ProxyName], coming(status.Override.Ends, now))
		}
	}
	return ends
}

// coming is nil for what has passed: a status stays while its cluster is paused.
func coming(at *metav1.Time, now time.Time) *metav1.Time {
	if at == nil || !at.After(now) {
		return nil
	}
	return at
}

// sooner returns the time that comes first; nil never comes.
func sooner(a, b *metav1.Time) *metav1.Time {
	if a == nil || b != nil && b.Before(a) {
		return b
	}
	return a
}

func collectRollout(ch chan<- prometheus.Metric, proxy string, status *v1alpha1.CorporateProxyStatus) {
	for _, r := range status.Revisions {
		ch <- gauge(rolloutClustersDesc, float64(r.Clusters), proxy, strconv.FormatInt(r.Number, 10))
	}
	rollout := status.Rollout
	if rollout == nil {
		return
	}
	if rollout.HaltedSince != nil {
		ch <- gauge(rolloutHaltedDesc, float64(rollout.HaltedSince.Unix()), proxy)
	}
	if rollout.Started != nil && rollout.Completed != nil {
		ch <- gauge(rolloutDurationDesc, rollout.Completed.Sub(rollout.Started.Time).Seconds(), proxy, strconv.FormatInt(rollout.Revision, 10))
	}
}

func gauge(desc *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// RegisterMetrics adds the operator's metrics to controller-runtime's registry.
func RegisterMetrics(reader client.Reader, elected <-chan struct{}) {
	metrics.Registry.MustRegister(Collectors(reader, elected)...)
}

// Collectors returns the operator's own metrics. Those about the fleet have no values until elected is closed.
func Collectors(reader client.Reader, elected <-chan struct{}) []prometheus.Collector {
	return []prometheus.Collector{cluster.SecretWrites, fleetCollector{reader, elected, time.Now}}
}

func leads(elected <-chan struct{}) bool {
	select {
	case <-elected:
		return true
	default:
		return false
	}
}

func collectReports(ch chan<- prometheus.Metric, reports []v1alpha1.ProxyReport) {
	counts, conditions, since := map[[2]string]float64{}, map[[2]string]float64{}, map[[2]string]float64{}
	for i := range reports {
		report := &reports[i]
		reason := "Unknown"
		if ready := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			reason = ready.Reason
		}
		counts[[2]string{report.Status.Mode, reason}]++
		for _, condition := range report.Status.Conditions {
			labels, at := [2]string{condition.Type, string(condition.Status)}, float64(condition.LastTransitionTime.Unix())
			if conditions[labels]++; since[labels] == 0 || at < since[labels] {
				since[labels] = at
			}
		}
		if nodes := report.Status.Nodes; nodes != nil {
			ch <- gauge(outdatedMachinesDesc, float64(nodes.Outdated), report.Namespace, report.Name)
			ch <- gauge(outdatedPoolsDesc, float64(nodes.OutdatedMachinePools), report.Namespace, report.Name)
		}
	}
	for labels, count := range counts {
		ch <- gauge(reportsDesc, count, labels[:]...)
	}
	for labels, count := range conditions {
		ch <- gauge(reportConditionsDesc, count, labels[:]...)
		ch <- gauge(conditionSinceDesc, since[labels], labels[:]...)
	}
}
