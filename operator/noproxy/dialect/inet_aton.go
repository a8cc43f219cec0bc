package dialect

import (
	"net/netip"
	"strconv"
	"strings"
)

// inetAton reads an IPv4 address as inet_aton of the C library does: one to four
// parts, each decimal, octal (0…) or hexadecimal (0x…), of which the last fills
// what is left of the address. White space and anything after it is ignored.
func inetAton(text string) (netip.Addr, bool) {
	if end := strings.IndexAny(text, " \t\n\v\f\r"); end >= 0 {
		text = text[:end]
	}
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var addr uint64
	for i, part := range parts {
		number, ok := cNumber(part)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		if !ok || number >= 1<<bits {
			return netip.Addr{}, false
		}
		addr = addr<<bits | number
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), true
}

// cNumber is strtoul with base 0, for digits only.
func cNumber(text string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		base, text = 16, text[2:]
	case len(text) > 1 && text[0] == '0':
		base = 8
	}
	if text == "" || text[0] == '+' {
		return 0, false
	}
	number, err := strconv.ParseUint(text, base, 33)
	return number, err == nil
}
