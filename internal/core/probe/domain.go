package probe

import (
	"net/netip"

	"golang.org/x/net/publicsuffix"
)

// domain returns what somebody registered; an address is its own.
func domain(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if registered, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return registered
	}
	return host
}
