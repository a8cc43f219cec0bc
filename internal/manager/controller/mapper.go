package controller

import (
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// mapper remembers what the kinds of Kubernetes and our own are called in requests: the one of controller-runtime finds it
// anew for each read and each write. Of other kinds, versions come and go.
type mapper struct {
	meta.RESTMapper
	known sync.Map // schema.GroupVersionKind to *meta.RESTMapping
}

func newMapper(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	of, err := apiutil.NewDynamicRESTMapper(config, client)
	return &mapper{RESTMapper: of}, err
}

// RESTMapping has the errors of the mapper that it asks.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 || kind.Group != corev1.GroupName && kind.Group != v1alpha1.GroupVersion.Group {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	if found, is := m.known.Load(key); is {
		return found.(*meta.RESTMapping), nil
	}
	found, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, found)
	}
	return found, err
}
