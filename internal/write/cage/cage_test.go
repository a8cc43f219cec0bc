package cage_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/write/cage"
)

var policies = cage.Policies{Secrets: "secrets", ConfigMaps: "configmaps", Writes: "writes"}

// server refuses creations as an API server with these policies does: the real one is in e2e/operator.
type server struct {
	client.Client

	missing string // the policy that is not there
	tried   map[string]bool
	cut     func() // ends the time when a second round begins
}

func (s server) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	if _, secret := object.(*corev1.Secret); secret && s.cut != nil && s.tried["writes in ours"] {
		s.cut()
	}
	if s.cut != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	policy := policies.Writes
	switch object.(type) {
	case *corev1.Secret:
		policy = policies.Secrets
	case *corev1.ConfigMap:
		if strings.HasSuffix(object.GetName(), "-cluster-values") { // of others, Writes says no
			policy = policies.ConfigMaps
		}
	}
	s.tried[policy+" in "+object.GetNamespace()] = true
	if policy == s.missing {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{}, object.GetName(), errors.New("ValidatingAdmissionPolicy '"+policy+"' denied request"))
}

func TestEveryPolicyIsTried(t *testing.T) {
	s := server{tried: map[string]bool{}}
	if err := cage.Check(t.Context(), s, policies, "ours"); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"secrets in ours", "secrets in default", "configmaps in ours", "configmaps in default", "writes in ours"} {
		if !s.tried[want] {
			t.Errorf("not tried: %s", want)
		}
	}
}

func TestAMissingPolicyIsNamed(t *testing.T) {
	once, cancel := context.WithCancel(t.Context()) // no second try
	cancel()
	for _, missing := range []string{policies.Secrets, policies.ConfigMaps, policies.Writes} {
		err := cage.Check(once, server{missing: missing, tried: map[string]bool{}}, policies, "ours")
		if err == nil || !strings.Contains(err.Error(), "without the admission policy "+missing+":") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

// Else all would be said to be missing, and not what was found of the one that is.
func TestARoundThatTheTimeCutsOffSaysNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := cage.Check(ctx, server{missing: policies.Secrets, tried: map[string]bool{}, cut: cancel}, policies, "ours")
	if err == nil || !strings.Contains(err.Error(), "without the admission policy secrets: nothing would keep it from") || strings.Contains(err.Error(), "ConfigMap") {
		t.Error(err)
	}
}

func TestWhoWritesNoConfigMapTriesNone(t *testing.T) {
	s := server{tried: map[string]bool{}}
	err := cage.Check(t.Context(), s, cage.Policies{Secrets: policies.Secrets, Writes: policies.Writes}, "ours")
	if err != nil || s.tried["configmaps in ours"] {
		t.Error(s.tried, err)
	}
}
