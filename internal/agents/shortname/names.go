package shortname

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// text is what a container is told, where, and by which flag or variable.
type text struct{ where, key, value string }

// named is a Service that a text names.
type named struct {
	host, where, full string
	severity          lint.Severity
}

var (
	// inURL finds hosts of the schemes whose clients use a proxy. User information is left out.
	inURL = regexp.MustCompile(`(?i)\b(?:https?|grpcs?|wss?)://(?:[^\s/@'"]*@)?([a-z0-9.-]+)`)
	// hostPort is what may be meant as an address.
	hostPort = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*):([0-9]{1,5})$`)
	// label is the name of a Service, which begins with a letter.
	label = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	// noAddress are flags and variables whose colon is before a tag, and dials those whose value is a host.
	noAddress = regexp.MustCompile(`(?i)image|tag|version|user|listen|bind`)
	dials     = regexp.MustCompile(`(?i)host|addr|url|server|service|endpoint|target|upstream|backend`)
)

// textsOf are the arguments and variables of a container, with what ConfigMaps among the files put there.
func (s Services) textsOf(namespace string, c tunnel.Container) []text {
	var all []text
	for _, line := range []struct {
		field string
		words []string
	}{{"command", c.Command}, {"args", c.Args}} {
		words := line.words
		for i, word := range words {
			t := text{where: fmt.Sprintf("%s[%d]", line.field, i), value: word}
			if flag, value, found := strings.Cut(word, "="); found && strings.HasPrefix(word, "-") {
				t.key, t.value = flag, value
			} else if i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=") {
				t.key = words[i-1]
			}
			all = append(all, t)
		}
	}
	for _, v := range c.Env {
		value := v.Value
		if from := v.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			value = s.texts[service{namespace, from.ConfigMapKeyRef.Name}][from.ConfigMapKeyRef.Key]
		}
		if !strings.HasSuffix(strings.ToUpper(v.Name), "_PROXY") {
			all = append(all, text{where: "variable " + v.Name, key: v.Name, value: value})
		}
	}
	return all
}

// names are the Services that a text names: in a URL, with a port, or alone where a host belongs and a Service is known.
func (s Services) names(namespace string, t text) []named {
	var found []named
	add := func(host string, sure bool) {
		first, rest, dotted := strings.Cut(host, ".")
		known := s.known[service{namespace, first}]
		if dotted {
			known = s.known[service{rest, first}]
		}
		if host == "localhost" || !label.MatchString(first) || dotted && !known || !known && !sure {
			return
		}
		n := named{host: host, where: t.where, full: full(host, namespace), severity: lint.Warning}
		if !known && !s.blind(namespace) {
			n.severity = lint.Info
		}
		found = append(found, n)
	}
	for _, match := range inURL.FindAllStringSubmatch(t.value, -1) {
		add(strings.ToLower(match[1]), true)
	}
	if noAddress.MatchString(t.key) {
		return found
	}
	for piece := range strings.SplitSeq(t.value, ",") {
		if match := hostPort.FindStringSubmatch(strings.TrimSpace(piece)); match != nil {
			add(match[1], true)
		} else if dials.MatchString(t.key) {
			add(strings.TrimSpace(piece), false)
		}
	}
	return found
}

// blind is true where the files have no Service of the namespace: nobody can tell whether there is one of a name.
func (s Services) blind(namespace string) bool {
	for known := range s.known {
		if known.namespace == namespace && known != kubernetes {
			return false
		}
	}
	return true
}
