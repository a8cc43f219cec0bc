package page

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
	"github.com/fairlead-io/fairlead/internal/manager/controller"
)

const (
	clusters = 400
	shown    = 6 * time.Hour
	between  = 2 * time.Minute // scrapes
)

// morning is when somebody looks at the dashboard.
var morning = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// objects stand for the operator's cache.
type objects struct {
	client.Reader
	reports []v1alpha1.ProxyReport
	proxies []v1alpha1.CorporateProxy
}

func (o *objects) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.ProxyReportList:
		list.Items = o.reports
	case *v1alpha1.CorporateProxyList:
		list.Items = o.proxies
	default:
		return fmt.Errorf("there are no %T", list)
	}
	return nil
}

// record returns the metrics of the operator's collectors through the morning, as far as a dashboard asks for them.
func record(t *testing.T, dashboard string) string {
	t.Helper()
	fleet, elected := &objects{}, make(chan struct{})
	close(elected)
	registry := prometheus.NewPedanticRegistry()
	var writes *prometheus.CounterVec
	for _, collector := range controller.Collectors(fleet, elected) {
		registry.MustRegister(collector)
		if vector, is := collector.(*prometheus.CounterVec); is {
			writes = vector
		}
	}
	// The collector of observe is filled by what it sees of clusters alone.
	looks := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_observe_clusters", Help: "As observe has it."}, []string{"result"})
	registry.MustRegister(looks)
	asked := regexp.MustCompile(`fairlead_\w+`).FindAllString(dashboard, -1)
	lines := map[string][]string{} // OpenMetrics wants what has one name in one place
	for at := morning.Add(-shown - 10*time.Minute); !at.After(morning); at = at.Add(between) {
		advance(fleet, writes, looks, at)
		families, err := registry.Gather()
		controlplanetest.Require(t, err)
		for _, family := range families {
			if name := family.GetName(); slices.Contains(asked, name) {
				for _, metric := range family.GetMetric() {
					var labels []string
					for _, label := range metric.GetLabel() {
						labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
					}
					value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
					lines[name] = append(lines[name], fmt.Sprintf("%s{%s} %v %d\n", name, strings.Join(labels, ","), value, at.Unix()))
				}
			}
		}
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		all.WriteString(strings.Join(lines[name], ""))
	}
	return all.String() + "# EOF\n"
}

// advance makes the fleet what it is at a time: revision 8 goes through its waves, clusters that have it get out no more,
// and the rollout halts. Some are refused by a webhook for half an hour before that.
func advance(fleet *objects, writes *prometheus.CounterVec, looks *prometheus.GaugeVec, at time.Time) {
	minute := int((shown - morning.Sub(at)).Minutes())
	newest := updated(minute)
	failing := min(max((minute-250)/3, 0), 12)
	refused := 0
	if minute >= 60 && minute < 95 {
		refused = 34
	}
	reports, proxies, _ := picturetest.Fleet(clusters, morning)
	for i := range reports {
		spoil(&reports[i].Status, i, failing, refused)
	}
	for i := range proxies {
		status := &proxies[i].Status
		if status.Rollout == nil {
			continue
		}
		status.Revisions = []v1alpha1.RevisionStatus{{Number: 7, Clusters: int32(343 - newest)}, {Number: 8, Clusters: int32(newest)}}
		if minute >= halted {
			since := metav1.NewTime(morning.Add(time.Duration(halted)*time.Minute - shown))
			status.Rollout.Halted, status.Rollout.HaltedSince = true, &since
			for c := range status.Conditions {
				if status.Conditions[c].Type == v1alpha1.ConditionReconciling {
					status.Conditions[c].Type, status.Conditions[c].Reason = v1alpha1.ConditionStalled, v1alpha1.ReasonHalted
				}
			}
		}
	}
	fleet.reports, fleet.proxies = reports, proxies
	writes.WithLabelValues("cluster-values", "unchanged").Add(80)
	writes.WithLabelValues("cluster-values", "written").Add(float64(2 * (newest - updated(minute-2))))
	writes.WithLabelValues("cluster-values", "refused").Add(float64(refused / 2))
	unreached := 6
	if minute >= 150 && minute < 180 {
		unreached = 27
	}
	for result, count := range map[string]int{"reached": clusters - unreached - 9, "timeout": unreached, "notInstalled": 9} {
		looks.WithLabelValues(result).Set(float64(count))
	}
}

// halted is the minute in which the rollout halts.
const halted = 282

// updated are the clusters that have revision 8.
func updated(minute int) int {
	canary := min(max(minute-30, 0), 20)
	first := min(max(2*(minute-110), 0), 100)
	rest := min(max(2*(min(minute, halted)-232), 0), 223)
	return canary + first + rest
}

// spoil adds faults to a cluster's status, beside those in the fleet of tests.
func spoil(status *v1alpha1.ProxyReportStatus, i, failing, refused int) {
	if status.Nodes != nil && status.Nodes.Outdated > 0 {
		status.Nodes.Outdated = int32(1 + i*7%19)
	}
	if i%12 == 3 && i/12 < refused {
		status.Conditions[0].Status, status.Conditions[0].Reason = metav1.ConditionFalse, v1alpha1.ReasonRefused
	}
	for _, condition := range status.Conditions {
		if condition.Type == v1alpha1.ConditionEgressVerified {
			return
		}
	}
	verified := metav1.Condition{Type: v1alpha1.ConditionEgressVerified, Status: metav1.ConditionTrue, Reason: "Verified", LastTransitionTime: metav1.NewTime(morning)}
	if i%30 == 1 && i/30 < failing {
		verified.Status = metav1.ConditionFalse
	}
	status.Conditions = append(status.Conditions, verified)
}
