package fabric_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// A rotation with two accounts, end to end: pods with variables, and pods behind relays. squid notes each request when it begins.
// The condition is never True while the old account is still used, and it is within a minute of the last look at who has it.
func TestOldCredentialsAreUnseenOnceNobodyUsesThem(t *testing.T) {
	tier.Full(t)
	a := newAccounts(t)
	relay := a.wire(system, "relay-1")
	relay.startRelay(nothingDirect)
	a.own("relay-1", "relay", "health", relay.address, 8099)
	relay.awaitProgrammed(true)
	behind, web := a.wire("shop", "behind"), a.newClassical("web")
	under := behind.load(2)
	tunnel := behind.tunnel()
	old := a.fingerprintOf(1)
	a.awaitSeen("all with the first account", func() (bool, any) {
		s, result := a.seen(old)
		return s.Relays == 1 && s.Pods == 1 && s.Namespaces >= 3 && len(result.Unseen) == 0, fmt.Sprintf("%+v, not seen: %v", s, result.Unseen)
	})

	a.setCredentials(user, nextUser)
	a.awaitUser(t, nextUser) // at the relay
	a.awaitRevision(2)
	a.setCredentials(nextUser, "")
	a.awaitRevision(3)
	a.awaitSeen("no copy and no relay has it as credentials; one has a tunnel", func() (bool, any) {
		s, _ := a.seen(old)
		return s.Relays == 1 && s.Pods == 1 && s.Namespaces == 0, s
	})
	a.staysFalse(t, "1 relay, 1 pod")

	web.restart()
	a.awaitSeen("no pod has it", func() (bool, any) {
		s, _ := a.seen(old)
		return s.Relays == 1 && s.Pods == 0, s
	})
	a.staysFalse(t, "in use: 1 relay")
	controlplanetest.Require(t, tunnel.Close())
	a.becomesTrue(t, old)

	controlplanetest.Require(t, a.squid.SetUsers(t.Context(), map[string]string{nextUser: nextPassword}))
	under.await(t, 20)
	under.stop()
	under.noneFailed(t)
	onlyAnswers(t, "the pod with variables", web.process)
	_, first := a.said.now()
	if last := a.lastStart(user); last.After(first) {
		t.Errorf("it was True at %s, and the old account was used at %s", first, last)
	}
}

// staysFalse looks for three periods.
func (a *accounts) staysFalse(t *testing.T, message string) {
	t.Helper()
	_, before := a.seen("")
	a.awaitSeen("three periods", func() (bool, any) {
		_, now := a.seen("")
		return now.Time.Sub(before.Time) >= 3*observationPeriod, now.Time
	})
	if said, first := a.said.now(); said.Status != metav1.ConditionFalse || !strings.Contains(said.Message, message) || !first.IsZero() {
		t.Fatalf("%s: %s, True at %s; want %s", said.Status, said.Message, first, message)
	}
}

// becomesTrue awaits it. Two observations without the account come first: more than a period and a half after the last
// one with it.
func (a *accounts) becomesTrue(t *testing.T, old string) {
	t.Helper()
	a.awaitSeen("True", func() (bool, any) {
		said, first := a.said.now()
		return !first.IsZero(), said.Message
	})
	s, _ := a.seen(old)
	_, first := a.said.now()
	took := first.Sub(*s.LastUsed)
	t.Logf("True %.1f s after the last observation with the old account, %.1f s after squid last let it begin something", took.Seconds(), first.Sub(a.lastStart(user)).Seconds())
	if took < observationPeriod*3/2 {
		t.Errorf("True after %s, too early", took)
	}
}

// awaitSeen is Await with the patience of several periods. A condition also says what there is.
func (a *accounts) awaitSeen(what string, condition func() (bool, any)) {
	a.t.Helper()
	controlplanetest.AwaitWithin(a.t, 10*observationPeriod, what, func(context.Context) (bool, error) {
		holds, instead := condition()
		return controlplanetest.Holds(holds, "%+v", instead)
	})
}

// setCredentials names the Secret of the account, and of its successor, and installs what comes of it.
func (a *accounts) setCredentials(name, next string) {
	a.t.Helper()
	controlplanetest.Change(a.t, a.management, a.proxy.DeepCopy(), func(p *v1alpha1.CorporateProxy) {
		p.Spec.Source.URL.CredentialsRef = &v1alpha1.SecretReference{Name: name}
		if next != "" {
			p.Spec.Source.URL.CredentialsRef.Next = &v1alpha1.SuccessorReference{Name: next}
		}
	})
	a.install()
}

// status is that of the CorporateProxy as it is now.
func (a *accounts) status() v1alpha1.CorporateProxyStatus {
	a.t.Helper()
	found := &v1alpha1.CorporateProxy{}
	controlplanetest.Require(a.t, a.management.Get(a.t.Context(), client.ObjectKeyFromObject(a.proxy), found))
	return found.Status
}

func (a *accounts) awaitRevision(number int64) {
	a.t.Helper()
	a.awaitSeen(fmt.Sprint("revision ", number), func() (bool, any) {
		status := a.status()
		r := status.Rollout
		return r != nil && r.Revision == number && r.Completed != nil, fmt.Sprintf("%+v, %+v", r, status.Conditions)
	})
}

// fingerprintOf returns the fingerprint of a revision's credentials.
func (a *accounts) fingerprintOf(number int64) (fingerprint string) {
	a.t.Helper()
	a.awaitRevision(number)
	a.awaitSeen("credentials in the status", func() (bool, any) {
		credentials := a.status().Credentials
		i := slices.IndexFunc(credentials, func(c v1alpha1.CredentialsStatus) bool { return c.Revision == number })
		if i >= 0 {
			fingerprint = credentials[i].Fingerprint
		}
		return i >= 0, credentials
	})
	return fingerprint
}
