package provider

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const placeholder = "{value}"

var (
	kindName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	groupName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)
	factName  = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,62}$`)
	fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// check returns what is wrong with a row, each error beginning with the field. It also brings the
// entries into their canonical form.
func (r *Row) check() []error {
	var errs []error
	if !kindName.MatchString(r.Kind) {
		errs = append(errs, fmt.Errorf("kind: %q is not the name of a kind", r.Kind))
	}
	if !groupName.MatchString(r.Group) {
		errs = append(errs, fmt.Errorf("group: %q is not the name of an API group", r.Group))
	}
	for i, text := range r.Metadata {
		entry, err := canonicalMetadata(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("metadata[%d]: %q %w", i, text, err))
		}
		r.Metadata[i] = entry
	}
	for i, text := range r.Domains {
		entry, err := canonicalDomain(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("domains[%d]: %q %w", i, text, err))
		}
		r.Domains[i] = entry
	}
	seen := map[string]bool{}
	for i, fact := range r.Facts {
		if seen[fact.Name] {
			errs = append(errs, fmt.Errorf("facts[%d].name: %q is taken in this row", i, fact.Name))
		}
		seen[fact.Name] = true
		for _, err := range fact.check() {
			errs = append(errs, fmt.Errorf("facts[%d].%w", i, err))
		}
	}
	return errs
}

// canonicalMetadata accepts a CIDR, an address or a name. What looks like an address is judged as one:
// 169.254.169.999 is not a name.
func canonicalMetadata(text string) (string, error) {
	switch {
	case strings.Contains(text, "/"):
		return canonicalCIDR(text)
	case strings.Contains(text, ":"):
		return canonicalAddress(text)
	}
	if entry, err := canonicalAddress(text); !errors.Is(err, errNotAddress) {
		return entry, err
	}
	entry, err := canonicalDomain(text)
	if err != nil {
		return "", errors.New("is not an IP address, a CIDR or a DNS name")
	}
	return entry, nil
}

func (f Fact) check() []error {
	var errs []error
	if !factName.MatchString(f.Name) {
		errs = append(errs, fmt.Errorf("name: %q is not a name in camelCase", f.Name))
	}
	if len(f.Paths) == 0 {
		errs = append(errs, errors.New("paths: is empty"))
	}
	for i, text := range f.Paths {
		if _, err := parsePath(text); err != nil {
			errs = append(errs, fmt.Errorf("paths[%d]: %w", i, err))
		}
	}
	if canonical[f.Type] == nil {
		errs = append(errs, fmt.Errorf("type: %q is none of %s, %s, %s", f.Type, CIDR, Address, Domain))
	}
	return append(errs, f.checkForm()...)
}

// checkForm judges the two ways in which an entry can be made of more than a value.
func (f Fact) checkForm() []error {
	var errs []error
	if f.Network != nil {
		if !fieldName.MatchString(f.Network.Address) || !fieldName.MatchString(f.Network.Prefix) {
			errs = append(errs, errors.New("network: address and prefix must each be the name of a field"))
		}
		if f.Type != "" && f.Type != CIDR {
			errs = append(errs, fmt.Errorf("network: makes a %s, the type is %s", CIDR, f.Type))
		}
	}
	if f.Entry == "" {
		return errs
	}
	if f.Type != Domain {
		errs = append(errs, fmt.Errorf("entry: is for the type %s alone", Domain))
	}
	if strings.Count(f.Entry, placeholder) != 1 {
		errs = append(errs, fmt.Errorf("entry: %q does not have %s once", f.Entry, placeholder))
	} else if _, err := canonicalDomain(strings.Replace(f.Entry, placeholder, "x", 1)); err != nil {
		errs = append(errs, fmt.Errorf("entry: %q %w", f.Entry, err))
	}
	return errs
}
