// Package health has the endpoints by which a kubelet asks how a program with a manager is.
package health

import (
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Add adds them: alive means that it answers, ready that every cache it decides from is filled. The informers are asked one by
// one: the cache as a whole calls itself synced while a kind is not even installed yet.
func Add(mgr manager.Manager, watched []client.Object) error {
	ready := func(request *http.Request) error {
		for _, object := range watched {
			informer, err := mgr.GetCache().GetInformer(request.Context(), object, cache.BlockUntilSynced(false))
			if err != nil {
				return fmt.Errorf("no cache of %T: %w", object, err)
			}
			if !informer.HasSynced() {
				return fmt.Errorf("the cache of %T is not synced yet", object)
			}
		}
		return nil
	}
	return errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", ready))
}
