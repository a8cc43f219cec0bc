package kyverno

import (
	"context"

	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// StartReports starts the reports controller beside the admission controller. It looks at an object half a minute
// after it has changed, and at all of them as soon as a policy has.
func (k *Kyverno) StartReports(ctx context.Context) (*process.Process, error) {
	path, err := tools.Build(ctx, tools.KyvernoReports, k.options.Progress)
	if err != nil {
		return nil, err
	}
	return k.cp.Run(ctx, process.Spec{
		Name: "kyverno-reports",
		Path: path,
		Env:  environment("kyverno-reports-controller", "kyverno:reports-controller"),
		Args: []string{
			"--kubeconfig=" + k.cp.AdminKubeconfig(),
			"--disableMetrics=true",
			"--enableTuf=false",
			"--admissionReports=false",
			"--validatingAdmissionPolicyReports=false",
			"--backgroundScanInterval=1h",
			"--omitEvents=PolicyApplied,PolicySkipped,PolicyViolation",
			"--leaderElectionRetryPeriod=1s",
		},
	})
}
