package inputs

import (
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// The CRD's defaults, for manifests that never met it.
const defaultCAKey = "ca.crt"

func certificateReference(ref v1alpha1.CertificateReference) Reference {
	if ref.Kind == "" {
		return Reference{KindConfigMap, ref.Name}
	}
	return Reference{ref.Kind, ref.Name}
}

// readTrustedCA reads the bundle that spec.trustedCARef names, if it does.
func readTrustedCA(node *resolve.Node, proxy *v1alpha1.CorporateProxy, get DataGetter) error {
	if proxy.Spec.TrustedCARef == nil {
		return nil
	}
	ref, key := certificateReference(*proxy.Spec.TrustedCARef), proxy.Spec.TrustedCARef.Key
	if ref.Kind != KindConfigMap && ref.Kind != KindSecret {
		return invalid(proxy, "spec.trustedCARef.kind", fmt.Sprintf("%q is neither %s nor %s", ref.Kind, KindConfigMap, KindSecret))
	}
	if key == "" {
		key = defaultCAKey
	}
	data, err := mustGet(proxy, "spec.trustedCARef", ref, get)
	if err != nil {
		return err
	}
	content, found := data[key]
	if !found {
		return &resolve.Problem{Reason: resolve.ReasonSourceMissing, Object: ref.String(), Field: "data." + key, Detail: "the key is missing"}
	}
	return AddTrustedCA(node, ref.String(), "data."+key, content)
}

// ErrTrustedCA is the cause of a problem with the content of a bundle.
var ErrTrustedCA = errors.New("the bundle cannot be used")

// AddTrustedCA adds a bundle to what machines get. The error is a
// *resolve.Problem about this object and field.
func AddTrustedCA(node *resolve.Node, object, field string, content []byte) error {
	bundle, err := cabundle.Parse(content)
	if err != nil {
		return &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: object, Field: field, Detail: err.Error(), Cause: ErrTrustedCA}
	}
	node.TrustedCA, node.Certificates = bundle.PEM, bundle.Certificates
	return nil
}
