package deliver

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// blockedRetry is when something that somebody has to change is tried again: not every change is an event.
const blockedRetry = time.Minute

// blockedError says why nothing can be given to Cluster API.
type blockedError struct{ message string }

func (e *blockedError) Error() string { return e.message }

// keep makes sure that Cluster API has the settings of a Cluster, and returns what it has; nil while there are none. Where nothing
// has changed and nothing is due, it sends no request.
func (r *Reconciler) keep(ctx context.Context, s *state) (*secretContent, error) {
	record := s.record()
	if record == nil || record.HMAC == "" || s.aSetGoes() {
		return nil, nil
	}
	key := client.ObjectKeyFromObject(s.cluster)
	last, ok := r.memory.lastContent(key)
	if ok && last.hmac == record.HMAC && s.setsAreRight() && time.Now().Before(r.due(s, last.looked)) {
		return &last, nil
	}
	document, err := r.source(ctx, s, record)
	if err != nil {
		return nil, err
	}
	there, err := r.ours(ctx, s, !ok)
	if err != nil {
		return nil, err
	}
	r.memory.doubt(key)
	if namespace, looked := there[delivery.Namespace]; looked {
		if _, err := r.keepPart(ctx, s, delivery.Namespace, namespace, delivery.NamespaceOf(r.WorkloadNamespace)); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	payload, err := r.keepPart(ctx, s, delivery.Source, there[delivery.Source], document)
	if err != nil {
		return nil, err
	}
	_, sealed, _ := delivery.Open(payload)
	next := secretContent{hmac: record.HMAC, hash: delivery.Hash(payload), sealed: sealed, looked: now}
	r.memory.setContent(key, next)
	return &next, nil
}

// record returns the operator's record of the Secret that it wrote last.
func (s *state) record() *v1alpha1.SecretRecord {
	for i := range s.reportedSecrets() {
		if record := &s.report.Status.Secrets[i]; record.Role == render.ValuesRole {
			return record
		}
	}
	return nil
}

func (s *state) reportedSecrets() []v1alpha1.SecretRecord {
	if s.report == nil {
		return nil
	}
	return s.report.Status.Secrets
}

func (s *state) setsAreRight() bool {
	for _, part := range parts {
		if set := s.sets[part]; set == nil || !matches(set, setOf(s.cluster, part)) {
			return false
		}
	}
	return true
}

// source returns what the workload cluster gets, from the Secret that the operator wrote.
func (r *Reconciler) source(ctx context.Context, s *state, record *v1alpha1.SecretRecord) ([]byte, error) {
	secret, err := r.secret(ctx, s.cluster.Namespace, record.Name)
	if err != nil {
		return nil, err
	}
	if secret.UID != record.UID {
		return nil, &blockedError{fmt.Sprintf("Secret %s is not the one that the operator wrote", record.Name)}
	}
	document, err := delivery.SourceOf(secret.Data[render.ValuesKey], r.WorkloadNamespace)
	if err != nil {
		return nil, &blockedError{fmt.Sprintf("Secret %s, key %s: %s", record.Name, render.ValuesKey, err)}
	}
	return document, nil
}

// secret reads one, empty if there is none. Nobody keeps it.
func (r *Reconciler) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := r.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret); apierrors.IsNotFound(err) {
		return &corev1.Secret{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret, nil
}

// aSetGoes: an event tells when a ClusterResourceSet that is being deleted is gone.
func (s *state) aSetGoes() bool {
	for _, set := range s.sets {
		if set.DeletionTimestamp != nil {
			return true
		}
	}
	return false
}

// ours reads the Secrets that have our names, before anything is written. It fails if one is somebody else's, since Cluster API
// would apply that. It skips the Secret of the Namespace, unless all are wanted or a set must be written.
func (r *Reconciler) ours(ctx context.Context, s *state, all bool) (map[delivery.Part]*corev1.Secret, error) {
	there := map[delivery.Part]*corev1.Secret{}
	for _, part := range parts {
		if part == delivery.Namespace && !all && s.setsAreRight() {
			continue
		}
		name := part.Name(s.cluster.Name)
		secret, err := r.secret(ctx, s.cluster.Namespace, name)
		if err != nil {
			return nil, err
		}
		if secret.Name != "" && secret.Labels[delivery.Label] != string(part) {
			return nil, &blockedError{fmt.Sprintf("Secret %s: it exists, and fairlead-operator deliver did not make it", name)}
		}
		there[part] = secret
	}
	return there, nil
}

// keepPart creates or mends the ClusterResourceSet of a part and its Secret, and returns the payload of the Secret.
func (r *Reconciler) keepPart(ctx context.Context, s *state, part delivery.Part, there *corev1.Secret, document []byte) ([]byte, error) {
	uid, err := r.ensureSet(ctx, s, part)
	if err != nil {
		return nil, err
	}
	payload := there.Data[delivery.Key]
	if !holds(there, document) || part == delivery.Source && r.renews(s, payload) {
		payload = seal(document, time.Now())
	} else if owned(there, uid) {
		return payload, nil
	}
	_, err = apply.Keep(ctx, r.Client, secretOf(setOf(s.cluster, part), uid, payload), writer)
	return payload, err
}

// ensureSet creates or mends the ClusterResourceSet of a part, and returns its UID, which owns the Secret of the part. It sends no
// request if the cached set is right.
func (r *Reconciler) ensureSet(ctx context.Context, s *state, part delivery.Part) (types.UID, error) {
	want, have := setOf(s.cluster, part), s.sets[part]
	if have != nil && matches(have, want) {
		return have.UID, nil
	}
	return apply.Keep(ctx, r.Client, want, writer)
}

// holds reports whether a Secret has this document for Cluster API.
func holds(secret *corev1.Secret, document []byte) bool {
	opened, _, ok := delivery.Open(secret.Data[delivery.Key])
	return ok && bytes.Equal(opened, document) && secret.Type == secretType
}

// renews reports whether the payload is due and was applied. One that is not applied yet is not renewed: Cluster API
// tries by itself.
func (r *Reconciler) renews(s *state, payload []byte) bool {
	_, sealed, _ := delivery.Open(payload)
	return !time.Now().Before(r.due(s, sealed)) && s.applied(delivery.Hash(payload)) != nil
}

func seal(document []byte, at time.Time) []byte {
	var nonce [delivery.NonceBytes]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	return delivery.Seal(document, at, nonce)
}

// due returns when something is next looked at, or sealed again, that last was at that time.
func (r *Reconciler) due(s *state, then time.Time) time.Time {
	return delivery.Due(client.ObjectKeyFromObject(s.cluster).String(), then, r.Renew)
}
