package noproxy

import (
	"net/netip"
	"strconv"
	"strings"
)

// Kind says what an Entry covers.
type Kind uint8

// The kinds of entry. Host has no spelling of its own: no client can be told
// "this name but nothing below it", so it is written like Domain. It exists
// for derived entries, such as a control-plane endpoint, that mean one host.
const (
	Host       Kind = iota + 1 // the name alone
	Domain                     // the name and every name below it
	Subdomains                 // every name below the name
	Addr                       // one IP address
	CIDR                       // every address of a network
	All                        // everything
)

// Entry is one intent of a NO_PROXY list. Entries are comparable; two entries
// that mean the same are equal, apart from Host and Domain of one name.
type Entry struct {
	Kind   Kind
	Name   string       // Host, Domain, Subdomains: lower-case A-labels, no dot at either end
	Rooted bool         // Host, Domain, Subdomains: the name is spelled with its final dot
	Prefix netip.Prefix // Addr, CIDR: masked; IPv4-mapped IPv6 is unmapped
	Port   uint16       // 0 means every port
}

// HostEntry returns the entry for one host as Cluster API spells it in a
// control-plane endpoint: a name or an address, without port. An IPv6 address
// may be bracketed. The error is a *Refusal.
func HostEntry(host string) (Entry, error) {
	e, err := Parse(host)
	if err != nil {
		return Entry{}, err
	}
	switch {
	case e.Port != 0, e.Kind == All, e.Kind == CIDR, e.Kind == Subdomains, strings.Contains(host, "/"):
		return Entry{}, refuse(host, ReasonHost, "one host name or address is expected here")
	case e.Kind == Domain:
		e.Kind = Host
	}
	return e, nil
}

// String returns the canonical spelling, which Parse reads back to an equal
// entry (a Host becomes a Domain).
func (e Entry) String() string {
	switch e.Kind {
	case All:
		return "*"
	case CIDR:
		return e.Prefix.String()
	case Addr:
		if e.Port != 0 {
			return netip.AddrPortFrom(e.Prefix.Addr(), e.Port).String()
		}
		return e.Prefix.Addr().String()
	}
	text := e.Name
	if e.Kind == Subdomains {
		text = "." + text
	}
	if e.Rooted {
		text += "."
	}
	if e.Port != 0 {
		text += ":" + strconv.Itoa(int(e.Port))
	}
	return text
}
