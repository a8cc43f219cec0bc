package egress

import (
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/noproxy"
)

// written is a policy as people write it.
type written struct {
	ServiceDomain string   `json:"serviceDomain"`
	Sources       []string `json:"sources"`
	Denied        []string `json:"denied"`
	Direct        struct {
		Networks   []string `json:"networks"`
		Domains    []string `json:"domains"`
		Namespaces []string `json:"namespaces"`
	} `json:"direct"`
}

// ParsePolicy reads a policy in YAML. An unknown field is an error, and an error names the field and the position in it.
func ParsePolicy(text []byte) (Policy, error) {
	var w written
	if err := yaml.UnmarshalStrict(text, &w); err != nil {
		return Policy{}, err
	}
	policy := Policy{Domain: strings.Trim(w.ServiceDomain, ".")}
	policy.Direct.Namespaces = w.Direct.Namespaces
	for _, list := range []struct {
		field string
		texts []string
		into  *[]netip.Prefix
	}{
		{"sources", w.Sources, &policy.Sources},
		{"denied", w.Denied, &policy.Denied},
		{"direct.networks", w.Direct.Networks, &policy.Direct.Networks},
	} {
		for i, text := range list.texts {
			prefix, err := parseNetwork(text)
			if err != nil {
				return Policy{}, fmt.Errorf("%s[%d]: %w", list.field, i, err)
			}
			*list.into = append(*list.into, prefix)
		}
	}
	for i, text := range w.Direct.Domains {
		entry, err := noproxy.Parse(text)
		if err == nil && (entry.Port != 0 || entry.Kind != noproxy.Domain && entry.Kind != noproxy.Subdomains) {
			err = fmt.Errorf("%q is not a domain such as corp.example", text)
		}
		if err != nil {
			return Policy{}, fmt.Errorf("direct.domains[%d]: %w", i, err)
		}
		policy.Direct.Domains = append(policy.Direct.Domains, entry.Name)
	}
	return policy, nil
}

// parseNetwork reads a network or a single address.
func parseNetwork(text string) (netip.Prefix, error) {
	entry, err := noproxy.Parse(text)
	if err == nil && (entry.Port != 0 || !entry.Prefix.IsValid()) {
		err = fmt.Errorf("%q is not a network such as 10.0.0.0/8", text)
	}
	return entry.Prefix, err
}
