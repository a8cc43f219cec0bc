package replicator

import (
	"bytes"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/operator/internal/proxysecret"
)

// bundle is the one that was last seen. A bundle can have a quarter of a megabyte, and hundreds of copies in the cache
// have the same.
type bundle struct {
	mu   sync.Mutex
	last []byte
}

// share makes equal bundles of successive Secrets one in memory. It is a transformation of the cache's.
func (b *bundle) share(object any) (any, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok || secret.Data[proxysecret.CAKey] == nil {
		return object, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !bytes.Equal(b.last, secret.Data[proxysecret.CAKey]) {
		b.last = secret.Data[proxysecret.CAKey]
	}
	secret.Data[proxysecret.CAKey] = b.last
	return secret, nil
}
