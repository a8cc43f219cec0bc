package settings

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// MemorySecret, in the operator's namespace, holds the key of its write memory.
// Without it every Secret is applied once more, which changes none of them.
const (
	MemorySecret = "fairlead-write-memory"
	MemoryKey    = "key"
)

// Key is the key of the write memory.
type Key struct {
	Client    client.Client // reads from caches
	Live      client.Reader // reads from the API server
	Namespace string        // the operator's own

	creating sync.Mutex
}

// Get returns the key, creating it on first use.
func (k *Key) Get(ctx context.Context) ([]byte, error) {
	name := types.NamespacedName{Namespace: k.Namespace, Name: MemorySecret}
	secret, err := machinery.Get[corev1.Secret](ctx, k.Client, name)
	if err != nil || secret != nil {
		return keyOf(secret, err)
	}
	k.creating.Lock()
	defer k.creating.Unlock()
	secret, err = machinery.Get[corev1.Secret](ctx, k.Live, name)
	if err != nil || secret != nil {
		return keyOf(secret, err)
	}
	key := make([]byte, apply.KeyBytes)
	_, _ = rand.Read(key) // never fails: crypto/rand
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Data:       map[string][]byte{MemoryKey: key},
	}
	return key, apply.Create(ctx, k.Client, secret)
}

// keyOf refuses a key that somebody else made up: with a short one, the hashes in
// the reports could be used to guess passwords.
func keyOf(secret *corev1.Secret, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	key := secret.Data[MemoryKey]
	if len(key) != apply.KeyBytes {
		return nil, fmt.Errorf("data.%[2]s of Secret %[1]s has %[3]d bytes instead of %[4]d; delete the Secret, and it is made anew", secret.Name, MemoryKey, len(key), apply.KeyBytes)
	}
	return key, nil
}

// Fingerprints returns the keyed hashes of the credentials of an installation.
func Fingerprints(key []byte, of resolve.Installation) resolve.Fingerprints {
	return resolve.Fingerprints{Current: fingerprint(key, of.HTTP, of.HTTPS), Previous: fingerprint(key, of.Previous.HTTP, of.Previous.HTTPS)}
}

// fingerprint returns the keyed hash of credentials; empty without any.
func fingerprint(key []byte, http, https proxyurl.URL) string {
	account := render.Account(http, https)
	if account == nil {
		return ""
	}
	return apply.Digest(key, account)
}
