package deliver

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// answer returns Cluster API's answer about the settings that it was given.
func (s *state) answer(g secretContent) delivery.Answer {
	a := delivery.Answer{HMAC: g.hmac, Given: g.sealed, Words: words(s.sets[delivery.Source])}
	if s.report.Status.Revision != nil {
		a.Revision = s.report.Status.Revision.Number
	}
	if at := s.applied(g.hash); at != nil {
		a.Applied, a.At = true, at.Time
	}
	return a
}

// applied returns when Cluster API applied a payload of this hash; nil if it last tried another payload, or failed.
func (s *state) applied(hash string) *metav1.Time {
	said := answerIn(s.binding, delivery.Source.Name(s.cluster.Name))
	if said == nil || said.Applied == nil || !*said.Applied || said.Hash != hash {
		return nil
	}
	return &said.LastAppliedTime
}

// say writes status.delivered if it changed.
func (r *Reconciler) say(ctx context.Context, s *state, next *v1alpha1.Delivered) error {
	r.memory.saw(client.ObjectKeyFromObject(s.cluster), next)
	if s.report == nil || s.report.DeletionTimestamp != nil || equality.Semantic.DeepEqual(s.report.Status.Delivered, next) {
		return nil
	}
	fields, err := merged(next)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(apply.StatusFields(ctx, r.Client, s.report, map[string]any{"delivered": fields}, writer))
}

// merged returns a merge patch that sets the missing fields to null, so that no earlier value remains.
func merged(next *v1alpha1.Delivered) (any, error) {
	if next == nil {
		return nil, nil
	}
	fields := map[string]any{"hmac": nil, "revision": nil, "time": nil, "since": nil, "message": nil}
	text, err := json.Marshal(next)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding what was delivered: %w", err)
	}
	return fields, nil
}
