package inputs

import (
	"cmp"
	"errors"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func certificateReference(ref v1alpha1.CertificateReference) Reference {
	return Reference{cmp.Or(ref.Kind, KindConfigMap), ref.Name} // the CRD's default, for manifests that never met it
}

// readTrustedCA reads the bundle that spec.trustedCARef names, if it does.
func readTrustedCA(node *resolve.Node, proxy *v1alpha1.CorporateProxy, get DataGetter) error {
	if proxy.Spec.TrustedCARef == nil {
		return nil
	}
	ref, key := certificateReference(*proxy.Spec.TrustedCARef), cmp.Or(proxy.Spec.TrustedCARef.Key, "ca.crt") // the CRD's default, too
	if ref.Kind != KindConfigMap && ref.Kind != KindSecret {
		return invalid(object(proxy), "spec.trustedCARef.kind", "%q is neither %s nor %s", ref.Kind, KindConfigMap, KindSecret)
	}
	data, err := mustGet(proxy, "spec.trustedCARef", ref, get, key)
	if err != nil {
		return err
	}
	return AddTrustedCA(node, ref.String(), "data."+key, data[key])
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
