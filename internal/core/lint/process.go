package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/unitfile"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Reader is a program that reads the variables, with the input to lint for it.
type Reader struct {
	Input
	Name string // of a service, or of a program that it starts
	Node bool   // it may need what the cluster needs
}

// containerd is a name's prefix that k3s, RKE2 and k0s take away for the containerd that they start.
const containerd = "CONTAINERD_"

// Process returns the input for the variables of a process, as /proc/PID/environ has them, or lines of them. Of a variable that is
// there twice, the first counts.
func Process(data string) []Reader {
	between := "\x00"
	if !strings.Contains(data, between) {
		between = "\n" // somebody has made lines of it
	}
	variables, told := map[string]string{}, map[string]bool{}
	var twice []Finding
	for assignment := range strings.SplitSeq(data, between) {
		name, value, ok := strings.Cut(assignment, "=")
		first, taken := variables[name]
		switch {
		case ok && !taken:
			variables[name] = value
		case ok && first != value && unitfile.IsProxyVariable(name) && !told[name]:
			told[name] = true
			twice = join(twice, []Finding{{
				Code: Spellings, Severity: Warning, Entries: []Entry{{Value: name}}, Mend: "set it once",
				Why: "it is there more than once: Go and the C library take the first, and others, such as shells, the last",
			}})
		}
	}
	if len(variables) == 0 {
		return nil
	}
	readers := readersOf(variables, "", true)
	readers[0].Refusals = append(twice, readers[0].Refusals...)
	return readers
}

// readersOf returns the process that has these variables, and its containerd, if some variables are for that.
func readersOf(variables map[string]string, object string, passes bool) []Reader {
	plain := func(name string) string { return name }
	all := []Reader{{Name: object, Node: true, Input: InputOf(variables, object, plain)}}
	below := maps.Clone(variables)
	var given []string
	for _, name := range proxyenv.Upper {
		if value, ok := variables[containerd+name]; ok && passes {
			below[name], given = value, append(given, containerd+name)
		}
	}
	if len(given) == 0 {
		return all
	}
	child := Reader{Name: "containerd", Node: true, Input: InputOf(below, object, func(name string) string {
		if slices.Contains(given, containerd+name) {
			return containerd + name
		}
		return name
	})}
	child.Audience = noproxy.AudienceGo
	if !child.Off {
		all[0].Except = append(all[0].Except, "containerd ("+strings.Join(given, ", ")+")")
	}
	if object != "" {
		child.Name = object + ", containerd"
	}
	return append(all, child)
}

// InputOf returns the input for variables; shown says where one stands. Those in capitals are taken first, as Go does.
func InputOf(variables map[string]string, object string, shown func(name string) string) Input {
	chosen := func(name string) (string, string) {
		if lower := strings.ToLower(name); variables[name] == "" && variables[lower] != "" {
			return shown(lower), variables[lower]
		}
		return shown(name), variables[name]
	}
	name, list := chosen(proxyenv.NoProxy)
	in := Read(list, noproxy.Source{Object: object, Field: name})
	httpName, http := chosen(proxyenv.HTTP)
	httpsName, https := chosen(proxyenv.HTTPS)
	in.HTTP, in.HTTPS, in.Off = in.ReadProxy(httpName, http), in.ReadProxy(httpsName, https), http == "" && https == ""
	if _, proxy := chosen(proxyenv.All); proxy != "" {
		in.All, in.Except = true, []string{"what reads ALL_PROXY (Go does not)"}
	}
	in.Refusals = append(in.Refusals, spellingsOf(variables)...)
	return in
}

// spellingsOf says that the two names of a variable differ.
func spellingsOf(variables map[string]string) []Finding {
	var findings []Finding
	for _, name := range proxyenv.Upper {
		lower := strings.ToLower(name)
		upperValue, hasUpper := variables[name]
		lowerValue, hasLower := variables[lower]
		if !hasUpper || !hasLower || upperValue == lowerValue {
			continue
		}
		why := "they differ: Go takes the one in capitals, curl and others the other one"
		switch {
		case upperValue == "":
			why = fmt.Sprintf("they differ, and %s is empty: Go and most others take %s, and some the empty one", name, lower)
		case lowerValue == "":
			why = fmt.Sprintf("they differ, and %s is empty: Go takes %s, and many others the empty one", lower, name)
		}
		findings = append(findings, Finding{
			Code: Spellings, Severity: Warning, Entries: []Entry{{Value: name}, {Value: lower}}, Mend: "set both to one value", Why: why,
		})
	}
	return findings
}
