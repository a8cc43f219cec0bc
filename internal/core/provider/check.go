package provider

import (
	"errors"
	"fmt"
	"net/netip"
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

// problems are the errors of a row, each beginning with the field.
type problems []error

func (p *problems) unless(holds bool, format string, args ...any) {
	if !holds {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// check also brings the entries into their canonical form.
func (r *Row) check() (wrong problems) {
	wrong.unless(kindName.MatchString(r.Kind), "kind: %q is not the name of a kind", r.Kind)
	wrong.unless(groupName.MatchString(r.Group), "group: %q is not the name of an API group", r.Group)
	for i, text := range r.Metadata {
		entry, err := canonicalMetadata(text)
		wrong.unless(err == nil, "metadata[%d]: %q %w", i, text, err)
		r.Metadata[i] = entry
	}
	for i, text := range r.Domains {
		entry, err := canonicalDomain(text)
		wrong.unless(err == nil, "domains[%d]: %q %w", i, text, err)
		r.Domains[i] = entry
	}
	seen := map[string]bool{}
	for i, fact := range r.Facts {
		wrong.unless(!seen[fact.Name], "facts[%d].name: %q is taken in this row", i, fact.Name)
		seen[fact.Name] = true
		for _, err := range fact.check() {
			wrong = append(wrong, fmt.Errorf("facts[%d].%w", i, err))
		}
	}
	return wrong
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

func (f Fact) check() (wrong problems) {
	wrong.unless(factName.MatchString(f.Name), "name: %q is not a name in camelCase", f.Name)
	wrong.unless(len(f.Paths) > 0, "paths: is empty")
	for i, text := range f.Paths {
		_, err := parsePath(text)
		wrong.unless(err == nil, "paths[%d]: %w", i, err)
	}
	wrong.unless(canonical[f.Type] != nil, "type: %q is none of %s, %s, %s", f.Type, CIDR, Address, Domain)
	if n := f.Network; n != nil {
		wrong.unless(fieldName.MatchString(n.Address) && fieldName.MatchString(n.Prefix), "network: address and prefix must each be the name of a field")
		wrong.unless(f.Type == "" || f.Type == CIDR, "network: makes a %s, the type is %s", CIDR, f.Type)
	}
	if f.Entry == "" {
		return wrong
	}
	wrong.unless(f.Type == Domain, "entry: is for the type %s alone", Domain)
	once := strings.Count(f.Entry, placeholder) == 1
	wrong.unless(once, "entry: %q does not have %s once", f.Entry, placeholder)
	if _, err := canonicalDomain(strings.Replace(f.Entry, placeholder, "x", 1)); once {
		wrong.unless(err == nil, "entry: %q %w", f.Entry, err)
	}
	return wrong
}

// The errors here do not repeat the value: Parse shows it beside them, and Extract must not.
var (
	errNotAddress = errors.New("is not an IP address")
	errNotDomain  = errors.New("is not a DNS name")
	errMapped     = errors.New("is an IPv4 address written as IPv6")
)

var canonical = map[Type]func(string) (string, error){"": canonicalCIDR, CIDR: canonicalCIDR, Address: canonicalAddress, Domain: canonicalDomain}

// canonicalCIDR returns the network: without the bits of a host, which some clients refuse to read
// although providers write them.
func canonicalCIDR(text string) (string, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return "", errors.New("is not a CIDR")
	case prefix.Addr().Is4In6():
		return "", errMapped
	case prefix.Bits() == 0:
		return "", errors.New("covers every address")
	}
	return prefix.Masked().String(), nil
}

func canonicalAddress(text string) (string, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return "", errNotAddress
	case addr.Is4In6():
		return "", errMapped
	case addr.Zone() != "":
		return "", errors.New("has an IPv6 zone")
	case addr.IsUnspecified():
		return "", errors.New("is the unspecified address")
	}
	return addr.String(), nil
}

// dnsLabel allows underscores, since people use them.
var dnsLabel = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// canonicalDomain accepts a leading dot (subdomains alone) and a trailing one (the absolute name, which
// is another name to most clients).
func canonicalDomain(text string) (string, error) {
	domain := strings.ToLower(text)
	labels := strings.Split(strings.TrimSuffix(strings.TrimPrefix(domain, "."), "."), ".")
	for _, label := range labels {
		if !dnsLabel.MatchString(label) {
			return "", errNotDomain
		}
	}
	// A last label without a letter makes clients read the name as an address.
	if len(domain) > 253 || !strings.ContainsAny(labels[len(labels)-1], "abcdefghijklmnopqrstuvwxyz") {
		return "", errNotDomain
	}
	return domain, nil
}
