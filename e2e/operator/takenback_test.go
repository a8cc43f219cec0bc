package operator_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// noStatus keeps the operator from recording in reports what it wrote.
const noStatus = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-status}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [fairlead.io], apiVersions: ["*"], operations: [UPDATE], resources: [proxyreports/status]}
  validations:
  - {expression: "false", message: no status today}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-status}
spec: {policyName: no-status, validationActions: [Deny]}
`

// forbidStatus returns once no status of a report can be written, and a function by which it can be again.
func (f *fixture) forbidStatus(cluster string) (allow func()) {
	f.Helper()
	f.must(f.cp.Apply(f.Context(), []byte(noStatus)))
	report := f.report(cluster, "Applied")
	try := func(ctx context.Context) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"refusalCount":1}}`))
		return f.client.Status().Patch(ctx, report, patch, client.DryRunAll)
	}
	controlplanetest.Await(f, "the API server to refuse", func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil && strings.Contains(err.Error(), "no status today") {
			return true, nil
		}
		return holds(false, "it says: %v", err)
	})
	return func() {
		policies, err := controlplane.Parse([]byte(noStatus))
		f.must(err)
		for _, policy := range policies {
			f.must(client.IgnoreNotFound(f.client.Delete(f.Context(), policy)))
		}
		controlplanetest.Await(f, "the API server to allow it", func(ctx context.Context) (bool, error) { return true, try(ctx) })
	}
}

func (f *fixture) setNoProxy(proxy *v1alpha1.CorporateProxy, list string) {
	f.Helper()
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxy.Name}}
	modify(f, source, func(s *corev1.Secret) { s.Data["noProxy"] = []byte(list) })
}

const otherMerged = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,other.example,svc,127.0.0.1,localhost"

// A change reaches the Secrets, no report records it, the operator dies, and the change is taken back: the reports say
// that all is as it should be.
func TestAChangeThatIsTakenBackBeforeItWasRecordedDoesNotStayInTheSecrets(t *testing.T) {
	f := newOwnFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	allow := f.forbidStatus("c1")
	f.setNoProxy(proxy, "other.example")
	f.awaitNoProxy("c1", otherMerged)
	f.operator.Kill()
	f.setNoProxy(proxy, exampleNoProxy)
	allow()
	f.startOperator()
	f.awaitNoProxy("c1", exampleMerged)
	f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool { return p.Status.Applying == nil })
}

func TestAChangeThatIsTakenBackWhileTheStatusCannotBeWrittenDoesNotStayInTheSecrets(t *testing.T) {
	f := newOwnFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	allow := f.forbidStatus("c1")
	f.setNoProxy(proxy, "other.example")
	f.awaitNoProxy("c1", otherMerged)
	f.setNoProxy(proxy, exampleNoProxy)
	f.awaitNoProxy("c1", exampleMerged)
	allow()
	f.report("c1", "Applied")
}
