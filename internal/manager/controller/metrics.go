package controller

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// The results of a write, as the label "result".
const (
	writeWritten   = "written"   // new content
	writeUnchanged = "unchanged" // applied again, nothing had to change
	writeMended    = "mended"    // applied again, somebody had changed it
	writeTaken     = "taken"
	writeKept      = "kept" // it was to be created blank, and exists
	writeRefused   = "refused"
	writeFailed    = "failed"
)

var secretWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "fairlead_secret_writes_total",
	Help: "Writes of Secrets and ConfigMaps, by role and result.",
}, []string{"role", "result"})

var reportsDesc = prometheus.NewDesc("fairlead_reports",
	"ProxyReports, by mode and reason of the condition Ready.", []string{"mode", "reason"}, nil)

var (
	outdatedMachinesDesc = prometheus.NewDesc("fairlead_outdated_machines",
		"Machines created before their proxy settings last changed, by Cluster.", []string{"namespace", "cluster"}, nil)
	outdatedPoolsDesc = prometheus.NewDesc("fairlead_outdated_machine_pools",
		"MachinePools created before their proxy settings last changed, by Cluster.", []string{"namespace", "cluster"}, nil)
)

// reportCollector counts the reports, and what they say, at each scrape, from the cache. The leader alone does: the sum
// over replicas would count the fleet several times.
type reportCollector struct {
	reader  client.Reader
	elected <-chan struct{}
}

var expiryDesc = prometheus.NewDesc("fairlead_trusted_ca_expiry_timestamp_seconds",
	"When the first certificate of a CorporateProxy's trusted CA expires.", []string{"proxy"}, nil)

// expiryCollector reads the statuses of the CorporateProxies at each scrape, from
// the cache. One without a CA has no value.
type expiryCollector struct {
	reader  client.Reader
	elected <-chan struct{}
}

// RegisterMetrics adds the operator's metrics to controller-runtime's registry.
func RegisterMetrics(reader client.Reader, elected <-chan struct{}) {
	metrics.Registry.MustRegister(Collectors(reader, elected)...)
}

// Collectors are the operator's own metrics. Those about the fleet have no values until elected is closed.
func Collectors(reader client.Reader, elected <-chan struct{}) []prometheus.Collector {
	return []prometheus.Collector{secretWrites, reportCollector{reader, elected}, expiryCollector{reader, elected}}
}

func leads(elected <-chan struct{}) bool {
	select {
	case <-elected:
		return true
	default:
		return false
	}
}

// Describe implements prometheus.Collector.
func (c reportCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- reportsDesc
	ch <- outdatedMachinesDesc
	ch <- outdatedPoolsDesc
}

// Collect implements prometheus.Collector.
func (c reportCollector) Collect(ch chan<- prometheus.Metric) {
	if !leads(c.elected) {
		return
	}
	reports := &v1alpha1.ProxyReportList{}
	if err := c.reader.List(context.Background(), reports, client.UnsafeDisableDeepCopy); err != nil {
		ch <- prometheus.NewInvalidMetric(reportsDesc, err)
		return
	}
	counts := map[[2]string]float64{}
	for _, report := range reports.Items {
		reason := "Unknown"
		if ready := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			reason = ready.Reason
		}
		counts[[2]string{report.Status.Mode, reason}]++
		if nodes := report.Status.Nodes; nodes != nil {
			ch <- prometheus.MustNewConstMetric(outdatedMachinesDesc, prometheus.GaugeValue, float64(nodes.Outdated), report.Namespace, report.Name)
			ch <- prometheus.MustNewConstMetric(outdatedPoolsDesc, prometheus.GaugeValue, float64(nodes.OutdatedMachinePools), report.Namespace, report.Name)
		}
	}
	for labels, count := range counts {
		ch <- prometheus.MustNewConstMetric(reportsDesc, prometheus.GaugeValue, count, labels[:]...)
	}
}

// Describe implements prometheus.Collector.
func (c expiryCollector) Describe(ch chan<- *prometheus.Desc) { ch <- expiryDesc }

// Collect implements prometheus.Collector.
func (c expiryCollector) Collect(ch chan<- prometheus.Metric) {
	if !leads(c.elected) {
		return
	}
	proxies := &v1alpha1.CorporateProxyList{}
	if err := c.reader.List(context.Background(), proxies, client.UnsafeDisableDeepCopy); err != nil {
		ch <- prometheus.NewInvalidMetric(expiryDesc, err)
		return
	}
	for _, proxy := range proxies.Items {
		if expiry := proxy.Status.TrustedCAExpiry; expiry != nil {
			ch <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(expiry.Unix()), proxy.Name)
		}
	}
}
