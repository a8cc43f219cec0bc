package provider

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

// The errors here say what is wrong and do not repeat the value: those of Parse show it beside, those of
// Extract must not.
var (
	errNotAddress = errors.New("is not an IP address")
	errNotDomain  = errors.New("is not a DNS name")
	errMapped     = errors.New("is an IPv4 address written as IPv6")
)

// canonical returns the entry of a type for a value.
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
