// Package egress decides what a forward proxy in a cluster or on a machine does with a request: send it through the
// company's proxy, connect to its destination, or refuse it. It resolves no name: who calls it says what a look-up found.
package egress

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/noproxy"
)

// Destination is where a request is to go.
type Destination struct {
	Name string     // in lower case, without a final dot; empty for an address
	Addr netip.Addr // without a zone, an IPv4-mapped one as IPv4; invalid for a name
	Port uint16
}

// ParseDestination reads host:port of a request (RFC 9110, section 7.2; RFC 9112, section 3.2.3). Addresses have one
// spelling: what the C library would take for an address besides is refused, as a proxy behind might be asked for another
// host than was looked at here. Without a port it is the given one; 0 means that the port is required.
func ParseDestination(authority string, port uint16) (Destination, *Refusal) {
	host, digits, bracketed, ok := splitAuthority(authority)
	if !ok {
		return Destination{}, refuse(BadRequest, "the destination is not host:port")
	}
	d := Destination{Port: port}
	if digits != "" {
		number, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || strings.Trim(digits, "0123456789") != "" {
			number = 0
		}
		d.Port = uint16(number)
	}
	if d.Port == 0 {
		return Destination{}, refuse(BadRequest, "the port of the destination is not a number from 1 to 65535")
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil && addr.Zone() != "":
		return Destination{}, refuse(OddAddress, "the address has a zone")
	case err == nil && addr.Is4() != bracketed:
		d.Addr = addr.Unmap()
		return d, nil
	case err == nil || bracketed || endsInNumber(host):
		return Destination{}, refuse(OddAddress, "the host is an address in a spelling that programs read differently: write it as 192.0.2.1 or [2001:db8::1]")
	}
	entry, err := noproxy.HostEntry(host)
	if err != nil || endsInNumber(entry.Name) { // which it may only once it is ASCII
		return Destination{}, refuse(BadRequest, "the host of the destination is neither a name nor an address")
	}
	d.Name = entry.Name
	return d, nil
}

// endsInNumber reports whether a host could be an IPv4 address to the C library or a browser: its last label is a decimal
// or hexadecimal number (URL Standard, "ends in a number checker").
func endsInNumber(host string) bool {
	host = strings.ToLower(strings.TrimRight(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// String is host:port.
func (d Destination) String() string {
	if d.Addr.IsValid() {
		return netip.AddrPortFrom(d.Addr, d.Port).String()
	}
	return d.Name + ":" + strconv.Itoa(int(d.Port))
}

func splitAuthority(authority string) (host, port string, bracketed, ok bool) {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`@/?#\`, r)
	}
	if strings.ContainsFunc(authority, odd) {
		return "", "", false, false
	}
	if inner, ok := strings.CutPrefix(authority, "["); ok {
		host, after, closed := strings.Cut(inner, "]")
		port, colon := strings.CutPrefix(after, ":")
		return host, port, true, closed && (after == "" || colon)
	}
	host, port, colon := strings.Cut(authority, ":")
	return host, port, false, host != "" && !strings.Contains(port, ":") && (!colon || port != "")
}
