package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

const preflightAccount = "fairlead-preflight"

// startPreflight starts the program as its service account, which it returns.
func (f *fixture) startPreflight(args ...string) (*process.Process, *rest.Config) {
	f.Helper()
	f.must(f.cp.ApplyFS(f.Context(), config.Preflight))
	p, account, err := f.tryPreflight(args...)
	f.must(err)
	return p, account
}

func (f *fixture) tryPreflight(args ...string) (*process.Process, *rest.Config, error) {
	f.Helper()
	account, err := f.cp.ServiceAccount(f.Context(), operator.Namespace, preflightAccount)
	f.must(err)
	kubeconfig, err := f.cp.Kubeconfig(account)
	f.must(err)
	port, err := ports.Reserve()
	f.must(err)
	p, err := f.cp.Run(f.Context(), process.Spec{
		Name: "preflight-" + port.String(), Path: controlplanetest.Program(f, "fairlead-operator"),
		Args: append([]string{"preflight", "--namespace", operator.Namespace, "--kubeconfig", kubeconfig, "--health-probe-bind-address", port.Address()}, args...),
		Ready: func(ctx context.Context) error {
			_, err := process.Get(ctx, "http://"+port.Address()+"/readyz")
			return err
		},
	})
	return p, account, err
}

// setAccount changes the fleet's proxy to squid, with this user.
func (w *waves) setAccount(s *companySquid, user, password string) {
	w.Helper()
	url := []byte(s.url(user, password))
	w.setSource(w.proxy.Name, func(data map[string][]byte) { data["http"], data["https"] = url, url })
}

func (w *waves) awaitReachable(status metav1.ConditionStatus, reason, message string) {
	w.Helper()
	w.awaitProxy(w.proxy, fmt.Sprintf("ProxyReachable %s %s: %s", status, reason, message), func(p *v1alpha1.CorporateProxy) bool {
		c := conditionOf(p.Status.Conditions, v1alpha1.ConditionProxyReachable)
		return c.Status == status && c.Reason == reason && strings.Contains(c.Message, message)
	})
}

// A password that squid refuses is found before the first cluster gets it: of 300 clusters (50 in make test), none has a Secret written. What
// corrects it goes through, without anybody removing a pin.
func TestAPasswordThatTheProxyRefusesReachesNoCluster(t *testing.T) {
	f := newOwnFixture(t, "--preflight")
	s := startSquid(f, map[string]string{"me": "first"})
	target := "tcp://" + listens(f)
	w := newWavesOf(f, 5, many(), func(p *v1alpha1.CorporateProxy) {
		p.Spec.Probes = &v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{URL: target, Route: "Proxied"}}}
	})
	w.setAccount(s, "me", "first")
	w.awaitReachable(metav1.ConditionUnknown, v1alpha1.ReasonTrying, "revision 2")
	f.startPreflight("--interval=2s")
	w.awaitComplete(2)
	w.awaitReachable(metav1.ConditionTrue, v1alpha1.ReasonReached, "revision 2 was tried in the management cluster: "+target)
	versions := w.count(w.all())

	w.setAccount(s, "me", "wrong")
	w.awaitReachable(metav1.ConditionFalse, "CredentialsRefused", "407")
	w.awaitProxy(w.proxy, "stalled because the preflight failed", func(p *v1alpha1.CorporateProxy) bool {
		return conditionOf(p.Status.Conditions, v1alpha1.ConditionStalled).Reason == v1alpha1.ReasonPreflightFailed
	})
	stalled := conditionOf(w.proxy.Status.Conditions, v1alpha1.ConditionStalled).Message
	if !strings.Contains(stalled, "revision 3") || !strings.Contains(stalled, "correct the user or the password") || strings.Contains(stalled, "wrong") {
		t.Error(stalled)
	}
	if status, out, _ := w.fairlead(w.cp.Admin(), "rollout", "status", w.proxy.Name); status == 0 || !strings.Contains(out, "407") || !strings.Contains(out, "revision 3") {
		t.Errorf("status %d: %s", status, out)
	}
	w.setNoProxy(w.proxy, "another.example") // the same password, in another revision
	w.awaitReachable(metav1.ConditionFalse, "CredentialsRefused", "revision 4")
	if times := s.awaitRefused("me", 2); times != 2 {
		t.Errorf("two revisions have asked with a wrong password %d times", times)
	}
	if now := w.count(w.all()); now != versions {
		t.Errorf("%d Secrets were written", now-versions)
	}

	s.setUsers(map[string]string{"me": "third"})
	w.setAccount(s, "me", "third")
	w.awaitComplete(5)
	w.awaitReachable(metav1.ConditionTrue, v1alpha1.ReasonReached, "revision 5")
	controlplanetest.AwaitWithin(t, patience, "no password to be left where it is tried", func(ctx context.Context) (bool, error) {
		secret := secretNamed(operator.Namespace, probe.PreflightName)
		err := f.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		return controlplanetest.Holds(err == nil && len(secret.Data) == 0, "it has %d keys (%v)", len(secret.Data), err)
	})
	configMap := configMapNamed(operator.Namespace, probe.PreflightName)
	f.must(f.client.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap))
	if text := fmt.Sprint(configMap.Data); strings.Contains(text, "first") || strings.Contains(text, "wrong") || strings.Contains(text, "third") {
		t.Errorf("a password is in the answers: %s", text)
	}
	w.history.close()
}

// annotated is what the preflight may not write to its ConfigMap.
var annotated = mergePatch(`{"metadata": {"annotations": {"x": "y"}}}`)

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

	thief, ctx := f.clientFor(account), t.Context()
	answers := configMapNamed(operator.Namespace, probe.PreflightName)
	wantForbidden(t, map[string]error{
		"annotate its ConfigMap":     thief.Patch(ctx, answers.DeepCopy(), annotated),
		"label it":                   thief.Patch(ctx, answers.DeepCopy(), mergePatch(`{"metadata": {"labels": {"fairlead.io/revision": "1"}}}`)),
		"put something else into it": thief.Patch(ctx, answers.DeepCopy(), mergePatch(`{"binaryData": {"x": "eA=="}}`)),
	})
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
	f.must(f.client.Delete(t.Context(), binding("fairlead-preflight-writes")))
	controlplanetest.AwaitWithin(t, patience, "the API server to forget the policy", func(ctx context.Context) (bool, error) {
		answers := configMapNamed(operator.Namespace, probe.PreflightName)
		return true, f.clientFor(account).Patch(ctx, answers, annotated, client.DryRunAll)
	})
	if _, _, err := f.tryPreflight(); err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy fairlead-preflight-writes") {
		t.Error(err)
	}
}
