package rights

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
)

//go:embed samples.yaml
var samplesYAML []byte

// One sample of each kind exists, and somebody tries to write another.
const (
	existing = "sample"
	another  = "another"
)

// samples returns an object of every kind of samples.yaml, in its order.
func samples(namespace, name, address string) ([]*unstructured.Unstructured, error) {
	request, err := signingRequest()
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer("$namespace", namespace, "$address", address, "$request", request, "$name", name).Replace(string(samplesYAML))
	objects, err := controlplane.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetName() == "" {
			object.SetName(name)
		}
	}
	return objects, nil
}

// signingRequest returns the content of a CertificateSigningRequest.
func signingRequest() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return "", err
	}
	text := bytes.TrimSpace(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return base64.StdEncoding.EncodeToString(text), nil
}

// createSamples creates one of each kind that the API server has.
func (s *Sweep) createSamples(ctx context.Context) error {
	objects, err := samples(s.Namespace, existing, "203.0.113.1")
	if err != nil {
		return err
	}
	writable := map[schema.GroupKind]Resource{}
	for _, r := range s.Resources {
		if r.writable() {
			writable[r.GroupKind()] = r
		}
	}
	s.existing = map[string]string{}
	for _, object := range objects {
		r, served := writable[object.GroupVersionKind().GroupKind()]
		if !served {
			continue
		}
		delete(writable, r.GroupKind())
		s.existing[r.main()] = object.GetName()
		_, err := s.of(s.admin, r).Create(ctx, object, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create a sample of %s: %w", r, err)
		}
	}
	for _, r := range writable {
		return fmt.Errorf("samples.yaml has no %s of %s", r.Kind, r.At)
	}
	return nil
}

func (s *Sweep) of(client dynamic.Interface, r Resource) dynamic.ResourceInterface {
	name, _, _ := strings.Cut(r.Name, "/")
	resource := client.Resource(r.At.WithResource(name))
	if r.Namespaced {
		return resource.Namespace(s.Namespace)
	}
	return resource
}
