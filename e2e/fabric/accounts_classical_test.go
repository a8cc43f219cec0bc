package fabric_test

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// classical is a pod with the variables that the policy gives it: a process that asks for ever, with the values that its
// namespace's copy had when it started.
type classical struct {
	*pod
	a *accounts
}

func (a *accounts) newClassical(name string) *classical {
	t := a.t
	t.Helper()
	c := &classical{pod: a.wire("shop", name), a: a}
	controlplanetest.Await(t, "an injected pod", func(ctx context.Context) (bool, error) {
		made, err := a.clients.CoreV1().Pods("shop").Create(ctx, podOnNode(name, nil), metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		if len(made.Spec.Containers[0].EnvFrom)+len(made.Spec.Containers[0].Env) > 0 {
			return true, nil
		}
		return false, errors.Join(errors.New("the policy is not in force yet"), a.clients.CoreV1().Pods("shop").Delete(ctx, name, *metav1.NewDeleteOptions(0)))
	})
	c.start()
	return c
}

// start does what the kubelet does: it reads the Secret, starts the process, and says so.
func (c *classical) start() {
	t := c.a.t
	t.Helper()
	var env []string
	controlplanetest.Await(t, "the copy", func(ctx context.Context) (bool, error) {
		secret, err := c.a.clients.CoreV1().Secrets("shop").Get(ctx, policies.Secret, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		history := proxysecret.ParseHistory(secret.Annotations[proxysecret.CredentialsAnnotation])
		if history.At(time.Now().Truncate(time.Second)) == proxysecret.Unknown {
			return false, errors.New("the copy was made a moment ago: who starts now may have had another one")
		}
		env = nil
		for name, value := range secret.Data {
			env = append(env, name+"="+string(value))
		}
		return true, nil
	})
	c.process = c.pod.start(process.Spec{
		Name: c.name, Path: "sh", Env: env,
		Args: []string{"-c", `while :; do curl -sk -o /dev/null -w '%{http_code}\n' https://` + machine.InternetName + `/; sleep 0.2; done`},
	})
	found, err := c.a.clients.CoreV1().Pods("shop").Get(t.Context(), c.name, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	c.a.runs(found, c.address)
}

// restart starts the container again.
func (c *classical) restart() {
	c.a.t.Helper()
	c.process.Kill()
	c.start()
}

// lastStart is when squid last let an account begin a request.
func (a *accounts) lastStart(user string) (last time.Time) {
	a.t.Helper()
	starts, err := a.squid.Starts()
	controlplanetest.Require(a.t, err)
	for _, start := range starts {
		if start.User == user {
			last = start.At
		}
	}
	if last.IsZero() {
		a.t.Errorf("squid has noted no request of %s", user)
	}
	return last
}
