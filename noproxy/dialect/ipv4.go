package dialect

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// numericIPv4 reads an IPv4 address as inet_aton of the C library does: one to
// four parts, each decimal, octal (0…) or hexadecimal (0x…). The last part
// fills the rest of the address.
func numericIPv4(text string, number func(string) (uint64, bool)) (netip.Addr, bool) {
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var addr uint64
	for i, part := range parts {
		value, ok := number(part)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		if !ok || value >= 1<<bits {
			return netip.Addr{}, false
		}
		addr = addr<<bits | value
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), true
}

// inetAton ignores white space and anything after it.
func inetAton(text string) (netip.Addr, bool) {
	if end := strings.IndexFunc(text, cSpace); end >= 0 {
		text = text[:end]
	}
	return numericIPv4(text, cNumber)
}

// cNumber is strtoul with base 0, for digits only. A number that is too large
// is larger than every address.
func cNumber(text string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		base, text = 16, text[2:]
	case len(text) > 1 && text[0] == '0':
		base = 8
	}
	number, err := strconv.ParseUint(text, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 1 << 40, true
	}
	return number, err == nil
}

// jsNumber is a part of an address in the URL Standard, where "0x" is zero.
func jsNumber(text string) (uint64, bool) {
	if text == "0x" || text == "0X" {
		return 0, true
	}
	return cNumber(text)
}

// isIPv6 reports whether a text is an IPv6 address without a zone.
func isIPv6(text string) bool {
	addr := literal(text)
	return addr.Is6() && addr.Zone() == ""
}

// hexadecimal writes an IPv6 address without a part in the form of IPv4.
func hexadecimal(addr netip.Addr) string {
	if b := addr.As16(); addr.Is4In6() {
		return fmt.Sprintf("::ffff:%x:%x", int(b[12])<<8|int(b[13]), int(b[14])<<8|int(b[15]))
	}
	return addr.String()
}

// numericHost is the address that the C library takes a host for: IPv4 in any
// form, or IPv6.
func numericHost(host string) netip.Addr {
	if addr, ok := numericIPv4(host, cNumber); ok {
		return addr
	}
	return literal(host)
}
