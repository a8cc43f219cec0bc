package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// PublicKey is the only key of the ConfigMap of a revision: YAML of [Public].
const PublicKey = "revision.yaml"

// Public is the half of a revision without secrets.
type Public struct {
	Proxy  string      `json:"proxy"`
	Number int64       `json:"number"`
	Digest string      `json:"digest"`
	Since  metav1.Time `json:"since"`

	// Credentials is the keyed fingerprint of the current credentials; empty without any.
	Credentials string `json:"credentials,omitempty"`
	// Previous is the keyed fingerprint of the previous credentials.
	Previous string `json:"previous,omitempty"`

	// The URLs, without user information.
	HTTP  string `json:"http,omitempty"`
	HTTPS string `json:"https,omitempty"`

	// SourceEntries are the entries of the source's Secret; those of spec.noProxy are in Spec.
	SourceEntries []string `json:"sourceEntries,omitempty"`

	// TrustedCA is the SHA-256 of the certificates; empty without any.
	TrustedCA string `json:"trustedCA,omitempty"`

	// Spec is the spec of the CorporateProxy, without what says which clusters get it, and how.
	Spec v1alpha1.CorporateProxySpec `json:"spec"`

	// Changes says who last changed the objects.
	Changes []Change `json:"changes,omitempty"`
}

// Change is the last change of an object by one field manager.
type Change struct {
	Object  string       `json:"object"`
	Manager string       `json:"manager"`
	Time    *metav1.Time `json:"time,omitempty"`
}

// PublicOf returns the public half of a content that means this installation, of a CorporateProxy as it is in effect. Number,
// digest, time, credentials and changes are the caller's to fill in.
func PublicOf(proxy *v1alpha1.CorporateProxy, installation resolve.Installation) Public {
	spec := meant(proxy.Spec)
	spec.NoProxy = inputs.Lasting(proxy.Spec.NoProxy) // with the notes for people
	p := Public{
		Proxy: proxy.Name, Spec: spec,
		HTTP: installation.HTTP.WithoutCredentials().String(), HTTPS: installation.HTTPS.WithoutCredentials().String(),
	}
	for _, item := range installation.NoProxy {
		if source := item.Sources[0]; source.Object != "CorporateProxy "+proxy.Name {
			p.SourceEntries = append(p.SourceEntries, item.Entry.String())
		}
	}
	if installation.Node.TrustedCA != nil {
		sum := sha256.Sum256(installation.Node.TrustedCA)
		p.TrustedCA = hex.EncodeToString(sum[:])
	}
	return p
}

// Text returns the YAML of the ConfigMap.
func (p Public) Text() (string, error) {
	text, err := yaml.Marshal(p)
	return string(text), err
}

// ParsePublic reads the ConfigMap of a revision.
func ParsePublic(data map[string]string) (Public, error) {
	var p Public
	if err := yaml.Unmarshal([]byte(data[PublicKey]), &p); err != nil || p.Proxy == "" || p.Number < 1 {
		return Public{}, fmt.Errorf("the key %s is not a revision", PublicKey)
	}
	return p, nil
}

// Installation returns what the revision means, without credentials and certificates. The error is a *resolve.Problem.
func (p Public) Installation() (resolve.Installation, error) {
	was := &v1alpha1.CorporateProxy{Spec: *p.Spec.DeepCopy()}
	was.Name, was.Spec.TrustedCARef = p.Proxy, nil
	if url := was.Spec.Source.URL; url != nil {
		url.CredentialsRef = nil
	}
	if ref := was.Spec.Source.ValuesRef; ref != nil {
		ref.Next = nil
	}
	return inputs.Installation(was, func(inputs.Reference) (map[string][]byte, error) {
		return inputs.PlainValues(p.HTTP, p.HTTPS, p.SourceEntries), nil
	})
}

// Entries are all entries of the installation, as they are written, without duplicates.
func (p Public) Entries() []string {
	list := slices.Clone(p.SourceEntries)
	for _, entry := range p.Spec.NoProxy {
		list = append(list, entry.Value)
	}
	seen := map[string]bool{}
	var all []string
	for _, text := range list {
		if entry, err := noproxy.Parse(strings.TrimSpace(text)); err == nil && !seen[entry.String()] {
			seen[entry.String()] = true
			all = append(all, entry.String())
		}
	}
	return all
}
