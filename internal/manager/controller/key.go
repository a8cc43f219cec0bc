package controller

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// MemorySecret, in the operator's namespace, holds the key of its write memory.
// Without it every Secret is applied once more, which changes none of them.
const (
	MemorySecret = "fairlead-write-memory"
	memoryKey    = "key"
)

// key returns the key of the write memory, creating it on first use.
func (r *ClusterReconciler) key(ctx context.Context) ([]byte, error) {
	name := types.NamespacedName{Namespace: r.Namespace, Name: MemorySecret}
	secret, err := get[corev1.Secret](ctx, r.Client, name)
	if err != nil || secret != nil {
		return keyOf(secret, err)
	}
	r.newKey.Lock()
	defer r.newKey.Unlock()
	secret, err = get[corev1.Secret](ctx, r.Live, name)
	if err != nil || secret != nil {
		return keyOf(secret, err)
	}
	key := make([]byte, apply.KeyBytes)
	_, _ = rand.Read(key) // never fails: crypto/rand
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Data:       map[string][]byte{memoryKey: key},
	}
	return key, apply.Create(ctx, r.Client, secret)
}

// keyOf refuses a key that somebody else made up: with a short one, the hashes in
// the reports could be used to guess passwords.
func keyOf(secret *corev1.Secret, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	key := secret.Data[memoryKey]
	if len(key) != apply.KeyBytes {
		return nil, fmt.Errorf("data.%[2]s of Secret %[1]s has %[3]d bytes instead of %[4]d; delete the Secret, and it is made anew", secret.Name, memoryKey, len(key), apply.KeyBytes)
	}
	return key, nil
}
