// Package lint finds what is wrong, or not portable, in a NO_PROXY list and
// its proxy: entries that open too much, that nobody or not everybody
// understands, what a cluster needs and the list lacks, and what clients make
// of the proxy's URL.
//
// What is portable is not decided by rules of thumb. Each entry implies
// requests that should go direct and some that should not; every client in
// package dialect is asked about them, with the list as it is written, and
// whoever deviates is named.
//
// The package is pure.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// Severity says how bad a finding is.
type Severity string

// The severities. Error: something will not work, or is open that must not be.
// Warning: something works for some clients only, and can be mended. Info: what
// no list can express for all clients.
const (
	Error   Severity = "Error"
	Warning Severity = "Warning"
	Info    Severity = "Info"
)

// Code names a kind of finding. Codes are stable.
type Code string

// The codes.
const (
	// The list as a whole, and what the cluster needs.
	MissingServices Code = "MissingServices" // the service network or suffix is not covered
	MissingPods     Code = "MissingPods"     // nor is the pod network
	MissingEndpoint Code = "MissingEndpoint" // nor the control-plane endpoint
	MissingLoopback Code = "MissingLoopback" // nor the pod itself
	MissingMetadata Code = "MissingMetadata" // nor what the cloud tells and lends its machines
	MissingNodes    Code = "MissingNodes"    // nor any network of the machines, as far as can be told
	ProviderAPI     Code = "ProviderAPI"     // what makes the machines, such as a vCenter, is asked through the proxy
	ShortName       Code = "ShortName"       // nor a Service that a manifest names without a dot
	EmptyList       Code = "EmptyList"       // nothing is covered: the list is empty or not set
	NoProxy         Code = "NoProxy"         // neither proxy is set
	NoCluster       Code = "NoCluster"       // what the cluster needs is not known
	Length          Code = "Length"          // longer than a place it goes to can carry
	Budget          Code = "Budget"          // so long that what many clients need beside entries is left out
	// Single entries.
	Unreadable   Code = "Unreadable"   // not a form of entry that has a meaning
	EmptyElement Code = "EmptyElement" // an empty element means everything to some clients
	Blank        Code = "Blank"        // white space hides entries from some clients
	TooBroad     Code = "TooBroad"     // opens more than it should
	Shadowed     Code = "Shadowed"     // another entry covers it for every client
	Omitted      Code = "Omitted"      // left out of the list for any client
	Ends         Code = "Ends"         // has an effect until a time that is near, or has passed
	// What clients make of entries.
	Breaks         Code = "Breaks"         // makes a client fail, whatever the URL
	NetworkMembers Code = "NetworkMembers" // networks are not read by everybody
	IPv6Network    Code = "IPv6Network"    // IPv6 networks by fewer
	IPv6Address    Code = "IPv6Address"    // IPv6 addresses are not read by everybody
	PortLike       Code = "PortLike"       // the end of an IPv6 address may be meant as a port
	Port           Code = "Port"           // ports are not read by everybody
	Wildcard       Code = "Wildcard"       // "*" is not read by everybody
	Unmatched      Code = "Unmatched"      // does not do what it says, in some clients
	Apex           Code = "Apex"           // ".d" covers d itself in some clients
	FinalDot       Code = "FinalDot"       // names with a final dot are not covered in some clients
	OverMatch      Code = "OverMatch"      // covers other hosts as well in some clients
	// The proxy.
	ProxyURL         Code = "ProxyURL"         // cannot be used as a proxy's URL
	ProxyListed      Code = "ProxyListed"      // the list covers the proxy itself
	HTTPSProxy       Code = "HTTPSProxy"       // TLS to the proxy is not for everybody
	PasswordEncoding Code = "PasswordEncoding" // arrives otherwise than it was written
	PasswordExpanded Code = "PasswordExpanded" // kubelet changes it in variables of pods
	OneProxy         Code = "OneProxy"         // only one of http and https is set
	// What a service of a machine gets.
	Wins      Code = "Wins"      // which setting of systemd a variable comes from
	Overruled Code = "Overruled" // a setting has no effect: another wins
	Hidden    Code = "Hidden"    // a file is not read: another one has its name
	Unset     Code = "Unset"     // UnsetEnvironment= takes the variable away
	Spellings Code = "Spellings" // NAME and name differ
	Dropped   Code = "Dropped"   // systemd takes no notice of a line
	UnitFile  Code = "UnitFile"  // a file that a unit names is not there, or not known
	// The company's authorities.
	Certificate Code = "Certificate" // expired, about to, or not valid yet
)

// Finding is one thing that somebody should know.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Entries  []Entry  `json:"entries,omitempty"` // none: about the list or the proxy as a whole
	Why      string   `json:"why"`
	Mend     string   `json:"mend,omitempty"`    // what to write instead
	Clients  []string `json:"clients,omitempty"` // which are affected
}

// Entry is an entry and where it was written.
type Entry struct {
	Value  string `json:"value"`
	Layer  string `json:"layer,omitempty"`
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
}

// Listed shows the first entries, and where the first was written.
func Listed(entries []Entry) string {
	const shown = 4
	values := make([]string, 0, shown)
	for _, e := range entries[:min(len(entries), shown)] {
		values = append(values, explain.Shown(e.Value))
	}
	text := strings.Join(values, ", ")
	if more := len(entries) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if e := entries[0]; len(entries) == 1 && e.Field != "" {
		text += "  (" + strings.TrimSpace(e.Object+" "+e.Field) + ")"
	}
	return text
}

func entryOf(item noproxy.Item) Entry {
	if len(item.Sources) == 0 {
		return Entry{Value: item.Entry.String()}
	}
	return entryAt(item.Entry.String(), item.Sources[0])
}

func entryAt(value string, at noproxy.Source) Entry {
	return Entry{Value: value, Layer: string(at.Layer), Object: at.Object, Field: at.Field}
}

// Worst returns the highest severity among findings, or "".
func Worst(findings []Finding) Severity {
	if len(findings) == 0 {
		return ""
	}
	return slices.MinFunc(findings, worseFirst).Severity
}

// Compare is negative if a is worse than b.
func Compare(a, b Severity) int {
	worst := []Severity{Error, Warning, Info}
	return cmp.Compare(slices.Index(worst, a), slices.Index(worst, b))
}

// Sorted puts the worst first, and keeps the order within a severity.
func Sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, worseFirst)
	return findings
}

func worseFirst(a, b Finding) int { return Compare(a.Severity, b.Severity) }
