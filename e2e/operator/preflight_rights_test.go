package operator_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// ofPreflight is all that RBAC lets the preflight's token do, in the operator's namespace.
var ofPreflight = rights.Table{
	"secrets fairlead-preflight":    "list watch",
	"configmaps fairlead-preflight": "get patch",
}

// Somebody has stolen the preflight's token.
func TestThePreflightsTokenReadsOneSecretAndChangesOneConfigMap(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--preflight")
	s := startSquid(f, map[string]string{"me": "first"})
	_, account := f.startPreflight("--interval=2s")
	w := newWavesOf(f, 1, 1, func(p *v1alpha1.CorporateProxy) { p.Spec.Probes = &v1alpha1.Probes{} })
	w.setAccount(s, "me", "first")
	w.awaitComplete(2)
	w.awaitReachable(metav1.ConditionTrue, "Reached", "revision 2")

	rightstest.May(t, f.cp, account, ofPreflight, map[string]rights.Table{f.namespace: {}, operator.Namespace: ofPreflight})
	rightstest.UsesAll(t, f.cp, controlplane.ServiceAccountUser(operator.Namespace, preflightAccount), ofPreflight)

	thief, merge := f.clientFor(account), func(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }
	answers := configMapNamed(operator.Namespace, probe.PreflightName)
	for name, try := range map[string]func(context.Context) error{
		"annotate its ConfigMap": func(ctx context.Context) error {
			return thief.Patch(ctx, answers.DeepCopy(), merge(`{"metadata": {"annotations": {"x": "y"}}}`))
		},
		"label it": func(ctx context.Context) error {
			return thief.Patch(ctx, answers.DeepCopy(), merge(`{"metadata": {"labels": {"fairlead.io/revision": "1"}}}`))
		},
		"put something else into it": func(ctx context.Context) error {
			return thief.Patch(ctx, answers.DeepCopy(), merge(`{"binaryData": {"x": "eA=="}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(t.Context()); !apierrors.IsForbidden(err) {
				t.Errorf("it was not forbidden: %v", err)
			}
		})
	}
}

// What its cage leaves to somebody with its name and every right: the sweep's samples have other names than its ConfigMap.
func TestEvenAnAdministratorsRightsLetThePreflightsTokenWriteNothingElse(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	p, account := f.startPreflight()
	f.must(p.Stop())
	thief := rightstest.Thief{Config: account, Namespace: operator.Namespace, Name: preflightAccount}
	rightstest.AsAdministrator(t, f.cp.Admin(), thief, f.namespace, rights.Union(rights.Table{}, rights.Exempt))
}

func TestThePreflightRefusesToRunWithoutItsCage(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	p, account := f.startPreflight()
	f.must(p.Stop())
	f.must(f.client.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-preflight-writes"}}))
	controlplanetest.AwaitWithin(t, patience, "the API server to forget the policy", func(ctx context.Context) (bool, error) {
		object := configMapNamed(operator.Namespace, probe.PreflightName)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"x": "y"}}}`))
		err := f.clientFor(account).Patch(ctx, object, patch, client.DryRunAll)
		return err == nil, err
	})
	if _, _, err := f.tryPreflight(); err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy fairlead-preflight-writes") {
		t.Error(err)
	}
}
