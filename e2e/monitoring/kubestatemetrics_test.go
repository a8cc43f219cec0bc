package monitoring_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The real kube-state-metrics reads a real report.
func TestKubeStateMetricsHasWhatReportsSay(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Shared(t)
	controlplanetest.Require(t, cp.ApplyFS(t.Context(), os.DirFS(root+"config/crd")))
	namespace := controlplanetest.Namespace(t, cp)
	since := metav1.NewTime(time.Unix(1_700_000_000, 0))
	writer := controlplanetest.Client(t, cp.Admin(), operator.Scheme)
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c1"}}
	controlplanetest.Require(t, writer.Create(t.Context(), report))
	report.Status = v1alpha1.ProxyReportStatus{
		Mode: "Proxied", ProxyName: "default", Observed: &v1alpha1.Observed{Time: since},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "EndpointUnknown", Message: "…", LastTransitionTime: since}},
	}
	controlplanetest.Require(t, writer.Status().Update(t.Context(), report))

	program := controlplanetest.Tool(t, tools.KubeStateMetrics)
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	telemetry, err := ports.Reserve()
	controlplanetest.Require(t, err)
	metrics := "http://" + port.Address() + "/metrics"
	controlplanetest.Require(t, errors.Join(port.Release(), telemetry.Release()))
	started, err := process.Start(t.Context(), process.Spec{
		Name: "kube-state-metrics", Path: program, LogFile: filepath.Join(t.TempDir(), "log"),
		Args: []string{
			"--host=127.0.0.1", "--port=" + port.String(), "--telemetry-host=127.0.0.1", "--telemetry-port=" + telemetry.String(),
			"--kubeconfig=" + cp.AdminKubeconfig(), "--custom-resource-state-only",
			"--custom-resource-state-config-file=" + root + "examples/monitoring/kube-state-metrics.yaml",
		},
		Ready: process.Answers(metrics),
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { controlplanetest.Require(t, started.Stop()) })

	labels := `cluster="c1",customresource_group="fairlead.io",customresource_kind="ProxyReport",customresource_version="v1alpha1"`
	for _, want := range []string{
		`fairlead_proxyreport_info{` + labels + `,mode="Proxied",namespace="` + namespace + `",proxy="default"} 1`,
		`fairlead_proxyreport_condition_since_timestamp_seconds{` + labels + `,namespace="` + namespace + `",reason="EndpointUnknown",status="False",type="Ready"} 1.7e+09`,
		`fairlead_proxyreport_observed_timestamp_seconds{` + labels + `,namespace="` + namespace + `"} 1.7e+09`,
	} {
		controlplanetest.Await(t, want, func(ctx context.Context) (bool, error) {
			page, err := process.Get(ctx, metrics)
			return controlplanetest.Holds(strings.Contains(page, want), "%v\n%s", err, page)
		})
	}
}
