package noproxy

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxEntry bounds one entry: a name has at most 253 characters (RFC 1035),
// and a leading "*.", a final dot and a port come on top.
const maxEntry = 270

// Parse reads one entry. The error is always a *Refusal.
func Parse(token string) (Entry, error) {
	text := strings.TrimSpace(token)
	if err := precheck(text); err != nil {
		return Entry{}, err
	}
	switch {
	case text == "*":
		return Entry{Kind: All}, nil
	case strings.Contains(text, "/"):
		return parsePrefix(text)
	case strings.HasPrefix(text, "["):
		return parseBracketed(text)
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return addrEntry(text, addr, 0)
	}
	return parseName(text)
}

// precheck refuses texts that are wrong for every kind of entry.
func precheck(text string) error {
	switch {
	case text == "":
		return refuse(text, ReasonEmpty, "an empty entry means everything to some clients")
	case len(text) > maxEntry:
		return refuse(text, ReasonTooLong, "longer than any host name (%d bytes)", len(text))
	case strings.Contains(text, "@"):
		return refuse(text, ReasonUserinfo, "an entry is a host or a network, not a URL with user information")
	case strings.Contains(text, "://"):
		return refuse(text, ReasonScheme, "write the host without the scheme in front")
	case !utf8.ValidString(text):
		return refuse(text, ReasonCharacter, "is not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsSpace):
		return refuse(text, ReasonSpace, "contains white space; separate entries with commas")
	}
	return nil
}

func parsePrefix(text string) (Entry, error) {
	left, right, _ := strings.Cut(text, "/")
	inner, bracketed := strings.CutPrefix(left, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	addr, err := netip.ParseAddr(inner)
	if err != nil || bracketed != closed || bracketed && !addr.Is6() {
		return Entry{}, refuse(text, ReasonPath, "an entry is a host or a network, without a path")
	}
	if addr.Zone() != "" {
		return Entry{}, refuse(text, ReasonZone, "an IPv6 zone cannot be matched")
	}
	if strings.Contains(right, ":") {
		return Entry{}, refuse(text, ReasonPort, "a network cannot carry a port")
	}
	bits, err := strconv.Atoi(right)
	if err != nil || bits < 0 || bits > addr.BitLen() || strconv.Itoa(bits) != right {
		return Entry{}, refuse(text, ReasonPrefix, "the prefix length is a number from 0 to %d", addr.BitLen())
	}
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	prefix := netip.PrefixFrom(addr, bits).Masked()
	if prefix.IsSingleIP() {
		return Entry{Kind: Addr, Prefix: prefix}, nil
	}
	return Entry{Kind: CIDR, Prefix: prefix}, nil
}

func parseBracketed(text string) (Entry, error) {
	inner, rest, closed := strings.Cut(text[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !closed || err != nil || !addr.Is6() {
		return Entry{}, refuse(text, ReasonAddress, "brackets hold an IPv6 address")
	}
	if rest == "" {
		return addrEntry(text, addr, 0)
	}
	if rest[0] != ':' {
		return Entry{}, refuse(text, ReasonPort, "only a port may follow the bracket")
	}
	port, err := parsePort(text, rest[1:])
	if err != nil {
		return Entry{}, err
	}
	return addrEntry(text, addr, port)
}

func parsePort(text, port string) (uint16, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return 0, refuse(text, ReasonPort, "the port is a number from 1 to 65535")
	}
	return uint16(n), nil
}

func addrEntry(text string, addr netip.Addr, port uint16) (Entry, error) {
	if addr.Zone() != "" {
		return Entry{}, refuse(text, ReasonZone, "an IPv6 zone cannot be matched")
	}
	addr = addr.Unmap()
	return Entry{Kind: Addr, Prefix: netip.PrefixFrom(addr, addr.BitLen()), Port: port}, nil
}

// parseName reads everything that is neither a network nor a plain address: a
// name, or an IPv4 address or a name with a port.
func parseName(text string) (Entry, error) {
	host, portText, hasPort := strings.Cut(text, ":")
	var port uint16
	if hasPort {
		if strings.Contains(portText, ":") {
			return Entry{}, refuse(text, ReasonAddress, "not an IPv6 address; with a port, put the address into brackets")
		}
		var err error
		if port, err = parsePort(text, portText); err != nil {
			return Entry{}, err
		}
	}
	host, err := toASCII(text, host)
	if err != nil {
		return Entry{}, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addrEntry(text, addr, port)
	}
	entry := Entry{Kind: Domain, Port: port}
	switch {
	case strings.HasPrefix(host, "*."):
		entry.Kind, host = Subdomains, host[2:]
	case strings.HasPrefix(host, "."):
		entry.Kind, host = Subdomains, host[1:]
	}
	entry.Name, entry.Rooted = strings.CutSuffix(host, ".")
	if err := checkName(text, entry.Name); err != nil {
		return Entry{}, err
	}
	return entry, nil
}

// toASCII returns the lower-case A-label form (RFC 5891, by the lookup profile
// of UTS #46 where the name is not ASCII).
func toASCII(text, host string) (string, error) {
	if isASCII(host) {
		return strings.ToLower(host), nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	if !wild {
		name, wild = strings.CutPrefix(host, ".")
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return "", refuse(text, ReasonIDNA, "not a valid internationalized domain name")
	}
	if wild {
		ascii = "." + ascii
	}
	return ascii, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

func checkName(text, name string) error {
	// Only digits after it: 10.1.2.3-node.example is a name.
	if first, last, ok := strings.Cut(name, "-"); ok && strings.Trim(last, "0123456789.") == "" {
		if _, err := netip.ParseAddr(first); err == nil {
			return refuse(text, ReasonRange, "address ranges are understood by almost no client; write a network such as 10.1.2.0/28")
		}
	}
	if strings.Contains(name, "*") {
		return refuse(text, ReasonWildcard, "a wildcard stands alone or as the first label")
	}
	if len(name) > 253 {
		return refuse(text, ReasonTooLong, "a host name has at most 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if err := checkLabel(text, label); err != nil {
			return err
		}
	}
	// The last label of a name is never a number (RFC 1123, 2.1), so this was
	// meant as an address; as a name it would match the end of addresses.
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" {
		return refuse(text, ReasonAddress, "ends in a number but is not an IPv4 address in dotted-quad form")
	}
	return nil
}

// checkLabel is RFC 1123 with underscores, which container names have.
func checkLabel(text, label string) error {
	switch {
	case label == "":
		return refuse(text, ReasonLabel, "a label between the dots is empty")
	case len(label) > 63:
		return refuse(text, ReasonLabel, "a label has at most 63 characters")
	case label[0] == '-' || label[len(label)-1] == '-':
		return refuse(text, ReasonLabel, "a label starts and ends with a letter or digit")
	}
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return refuse(text, ReasonCharacter, "%q cannot be part of a host name", c)
		}
	}
	return nil
}
