package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// unitName is a service whose name can be a key of a Secret: systemd.unit(5)
// allows ":", "\\" and "@", too, a Secret does not.
var unitName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.service$`)

const maxUnitName = 200 // a key of a Secret has 253 characters, a file name 255

// As in the CRD: both stand in units, and in a script in one.
var (
	imageName  = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9_.:/@-]*$`)
	binaryPath = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`)
)

// machineRelay reads the settings of the relay on machines that have one.
func machineRelay(spec v1alpha1.MachineRelay, object, prefix string) (resolve.MachineRelay, error) {
	relay := resolve.MachineRelay{Image: spec.Image, Binary: cmp.Or(spec.Binary, resolve.DefaultBinary)}
	switch {
	case relay.Image != "" && !imageName.MatchString(relay.Image):
		return relay, invalid(object, prefix+"relay.image", "%q is not the name of an image", relay.Image)
	case !binaryPath.MatchString(relay.Binary):
		return relay, invalid(object, prefix+"relay.binary", "%q is not a path such as %s", relay.Binary, resolve.DefaultBinary)
	}
	return relay, nil
}

// Node reads what machines are to get. Object and prefix say where the fields
// stand. The error is a *resolve.Problem.
func Node(spec v1alpha1.NodeSettings, object, prefix string) (resolve.Node, error) {
	node := resolve.Node{
		StaticPods:  cmp.Or(resolve.StaticPods(spec.StaticPods), resolve.StaticPodsStrip), // the CRD's default
		Base64Twins: spec.Base64Twins,
		Delivery:    cmp.Or(resolve.Delivery(spec.Delivery), resolve.DeliveryLiteral), // the CRD's default, too
	}
	if err := oneOf(node.Delivery, resolve.Deliveries, object, prefix+"delivery"); err != nil {
		return node, err
	}
	if node.Delivery == resolve.DeliveryRelay {
		var err error
		if node.Relay, err = machineRelay(spec.Relay, object, prefix); err != nil {
			return node, err
		}
	}
	if err := oneOf(node.StaticPods, resolve.EveryStaticPods, object, prefix+"staticPods"); err != nil {
		return node, err
	}
	for i, unit := range spec.Units {
		if !unitName.MatchString(unit) || len(unit) > maxUnitName {
			return node, invalid(object, fmt.Sprintf("%sunits[%d]", prefix, i),
				"%q is not the name of a service, such as crio.service: letters, digits, \"-\", \"_\" and \".\", at most %d, no path and no template", unit, maxUnitName)
		}
		if unit != render.Containerd && unit != render.Kubelet && !slices.Contains(node.Units, unit) {
			node.Units = append(node.Units, unit)
		}
	}
	for i, name := range spec.Files {
		file := resolve.NodeFile(name)
		if err := oneOf(file, resolve.NodeFiles, object, fmt.Sprintf("%sfiles[%d]", prefix, i)); err != nil {
			return node, err
		}
		node.Files = append(node.Files, file)
	}
	return node, nil
}

func oneOf[T ~string](value T, all []T, object, field string) error {
	if slices.Contains(all, value) {
		return nil
	}
	return invalid(object, field, "%q is none of %s", value, all)
}

func certificateReference(ref v1alpha1.CertificateReference) Reference {
	return Reference{cmp.Or(ref.Kind, KindConfigMap), ref.Name} // the CRD's default, for manifests that never met it
}

func certificateKey(ref v1alpha1.CertificateReference) string {
	return cmp.Or(ref.Key, "ca.crt") // the CRD's default, too
}

// readTrustedCA reads the bundle that spec.trustedCARef names, if it does.
func readTrustedCA(node *resolve.Node, proxy *v1alpha1.CorporateProxy, get DataGetter) error {
	if proxy.Spec.TrustedCARef == nil {
		return nil
	}
	ref, key := certificateReference(*proxy.Spec.TrustedCARef), certificateKey(*proxy.Spec.TrustedCARef)
	if ref.Kind != KindConfigMap && ref.Kind != KindSecret {
		return invalid(object(proxy), "spec.trustedCARef.kind", "%q is neither %s nor %s", ref.Kind, KindConfigMap, KindSecret)
	}
	bundle, err := mustGet(proxy, "spec.trustedCARef", ref, get, key)
	if err != nil {
		return err
	}
	return AddTrustedCA(node, ref.String(), "data."+key, bundle.data[key])
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
