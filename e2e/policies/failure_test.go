package policies_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// kyverno is the engine that can be down.
func (c *corpus) kyverno() *engine { return c.engines[1] }

func TestWhileKyvernoIsDownAPodIsRefusedOrRunsWithoutAndOnceItIsBackItIsInjected(t *testing.T) {
	tier.Full(t)
	c := must(t, theCorpus)
	e := c.kyverno()
	handled := e.handled(t, "handled-while-down")
	e.kyverno.Kill()
	t.Cleanup(func() {
		controlplanetest.Require(t, e.kyverno.Restart(context.Background()))
		controlplanetest.Require(t, e.awaitPolicy(context.Background(), secretRef.namespace(plainNamespace)))
		again := corner{variant: secretRef, selection: selection{name: "after-restart", injected: true}}
		c.mustBeAsExpected(t, e, again)
	})
	down := func(name string) selection {
		s := selectionNamed(name)
		s.name += "-while-down"
		return s
	}

	for _, name := range []string{"plain", "annotation-exclude"} { // an annotation is for Kyverno to read
		where := corner{variant: secretRef, selection: down(name), rows: must(t, decisions)[:1], places: []string{container}}
		_, err := e.store(t.Context(), where)
		if err == nil || !strings.Contains(err.Error(), `failed calling webhook "mpol`) {
			t.Errorf("%s: %v", name, err)
		}
		_, err = e.clients.CoreV1().Pods(where.namespace()).Get(t.Context(), where.name(), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	for _, name := range []string{"label-exclude", "namespace-exclude", "namespace-excluded-by-name", "core-provider", "bootstrap-provider", "kamaji-control-plane"} {
		c.mustBeAsExpected(t, e, corner{variant: secretRef, selection: down(name)})
	}
	for what, err := range e.handle(t.Context(), handled) {
		if isRefused := err != nil && strings.Contains(err.Error(), `failed calling webhook "mpol`); err != nil && !isRefused {
			t.Errorf("%s: %v", what, err)
		} else if isRefused != strings.Contains(what, "debug") {
			t.Errorf("%s is refused: %t", what, isRefused)
		}
	}
	without := down("plain")
	without.injected = false
	c.mustBeAsExpected(t, e, corner{variant: lenient, selection: without})
}

// mustBeAsExpected puts all rows before the engine, in all places but ephemeral ones, in one pod.
func (c *corpus) mustBeAsExpected(t *testing.T, e *engine, where corner) {
	t.Helper()
	where.rows, where.places = must(t, decisions), []string{container, initContainer, sidecar}
	diff, err := c.difference(context.WithoutCancel(t.Context()), e, where)
	controlplanetest.Require(t, err)
	if diff != "" {
		t.Errorf("%s, %s: %s", where.variant.name, where.name(), diff)
	}
}

func TestAPolicyThatFailsHalfwayLeavesThePodAsItWas(t *testing.T) {
	tier.Full(t)
	c := must(t, theCorpus)
	for _, e := range c.engines {
		t.Run(e.name, func(t *testing.T) {
			stored := e.mustStore(t, faltering.namespace(plainNamespace), "halfway",
				"{initContainers: [{name: first, image: a}], containers: [{name: second, image: a}, {name: falter, image: a}, {name: last, image: a}]}")
			for _, one := range everyContainer(&stored.Spec) {
				if len(one.Env) != 0 {
					t.Errorf("%s has %v", one.Name, one.Env)
				}
			}
		})
	}
}
