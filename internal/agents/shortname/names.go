package shortname

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// text is a value that a container gets, where, and by which flag or variable.
type text struct{ where, key, value string }

// named is a Service that a text names.
type named struct {
	host, where, full string
	severity          lint.Severity
}

var (
	// inURL finds hosts of the schemes whose clients use a proxy. All before the last @ of a word may be a password; a host
	// may have a variable in it, and is then no name.
	inURL = regexp.MustCompile(`(?i)\b(?:https?|grpcs?|wss?)://(\S*@)?([a-z0-9._$%-]+)`)
	// hostPort matches what may be an address. It may also be an image, a number of something, or a password.
	hostPort = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*):[0-9]{1,5}$`)
	// label is the name of a Service, which begins with a letter.
	label = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	// assigned is a word that gives a flag or a variable its value.
	assigned = regexp.MustCompile(`^["']?(-{0,2}[A-Za-z][\w.-]*)=(.*)$`)
	// noAddress are flags and variables whose colon is before a tag.
	noAddress = regexp.MustCompile(`(?i)image|tag|version|user|listen|bind`)
)

// textsOf returns the arguments and variables of a container.
func textsOf(c tunnel.Container, variables []variable) []text {
	var all []text
	for _, line := range []struct {
		field string
		words []string
	}{{"command", c.Command}, {"args", c.Args}} {
		words := line.words
		for i, word := range words {
			t := text{where: fmt.Sprintf("%s[%d]", line.field, i), value: word}
			if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
				t.key, t.value = flag, value
			} else if i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=") {
				t.key = words[i-1]
			}
			all = append(all, t)
		}
	}
	for _, v := range variables {
		if !strings.HasSuffix(strings.ToUpper(v.name), "_PROXY") {
			all = append(all, text{where: "variable " + v.name + v.source, key: v.name, value: v.value})
		}
	}
	return all
}

// names returns the Services that a text names, whose words may be those of a shell.
func (s Services) names(namespace string, t text) []named {
	if password.IsOf(t.key) {
		return nil
	}
	var found []named
	next := t.key
	for word := range strings.FieldsSeq(t.value) {
		w := text{t.where, next, word}
		next = t.key
		if match := assigned.FindStringSubmatch(word); match != nil {
			w.key, w.value = match[1], match[2]
		} else if strings.HasPrefix(word, "-") {
			next = word
		}
		if !password.IsOf(w.key) {
			found = append(found, s.inWord(namespace, w)...)
		}
	}
	return found
}

// inWord returns the Services that a word names: in a URL; and those that are known with a port, or alone where a host belongs.
func (s Services) inWord(namespace string, t text) []named {
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
		// Behind a slash, the @ may be that of a path, or of a password that is not encoded.
		add(strings.ToLower(match[2]), !strings.ContainsAny(match[1], "/?#"))
	}
	if noAddress.MatchString(t.key) {
		return found
	}
	for piece := range strings.FieldsFuncSeq(t.value, func(r rune) bool { return strings.ContainsRune(",;|&()<>'\"`", r) }) {
		if match := hostPort.FindStringSubmatch(piece); match != nil {
			add(match[1], false)
		} else if password.Dials(t.key) {
			add(piece, false)
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

// variable is one of a container.
type variable struct {
	name, value string
	source      string // for people, if it comes by envFrom
	unknown     bool   // its value
}

// variables returns the variables of a container with what ConfigMaps among the files put there. Later ones win, as kubelet has it.
func (s Services) variables(namespace string, c tunnel.Container) []variable {
	var all []variable
	set := func(v variable) {
		all = append(slices.DeleteFunc(all, func(o variable) bool { return o.name == v.name }), v)
	}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		texts := s.texts[service{namespace, from.ConfigMapRef.Name}]
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			set(variable{name: from.Prefix + key, value: texts[key], source: " of ConfigMap " + from.ConfigMapRef.Name})
		}
	}
	for _, e := range c.Env {
		v := variable{name: e.Name, value: e.Value}
		if from := e.ValueFrom; from != nil {
			v.unknown = true
			if ref := from.ConfigMapKeyRef; ref != nil {
				text, ok := s.texts[service{namespace, ref.Name}][ref.Key]
				v.value, v.unknown = text, !ok
			}
		}
		set(v)
	}
	return all
}

// own says which settings of a proxy a container sets itself.
type own struct {
	url   bool    // a proxy's, so that it has one whatever the policy gives it
	keeps bool    // what the policy adds no URL to
	list  *string // instead of the pod's, if it is known
}

// ownOf leaves a list of envFrom out where the policy writes one with the pod's entries over it.
func ownOf(variables []variable, entries bool) own {
	var o own
	for _, v := range variables {
		switch strings.ToUpper(v.name) {
		case proxyenv.HTTP, proxyenv.HTTPS:
			o.url = o.url || v.value != "" || v.unknown
			o.keeps = o.keeps || v.source == ""
		case proxyenv.All, proxysecret.ListName:
			o.keeps = o.keeps || v.source == ""
		case proxyenv.NoProxy:
			o.keeps = o.keeps || v.source == "" && !proxysecret.RefersToList(v.value)
			if !v.unknown && (v.source == "" || !entries) {
				o.list = &v.value
			}
		}
	}
	return o
}
