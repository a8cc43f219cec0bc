package replicator

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// bundle is the one that was last seen. A bundle can have a quarter of a megabyte, and hundreds of copies in the cache
// have the same.
type bundle struct {
	mu     sync.Mutex
	text   string // of ConfigMaps
	binary []byte // of Secrets from before there was a ConfigMap
}

// share makes equal bundles of successive objects one in memory. It is a transformation of the cache's.
func (b *bundle) share(object any) (any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o := object.(type) {
	case *corev1.ConfigMap:
		if text, ok := o.Data[proxysecret.CAKey]; ok {
			if text != b.text {
				b.text = text
			}
			o.Data[proxysecret.CAKey] = b.text
		}
	case *corev1.Secret:
		if binary, ok := o.Data[proxysecret.CAKey]; ok {
			if string(binary) != string(b.binary) {
				b.binary = binary
			}
			o.Data[proxysecret.CAKey] = b.binary
		}
	}
	return object, nil
}
