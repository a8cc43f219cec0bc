package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/templates/systemd"
)

// DropIn returns the systemd drop-in of a unit with the list for an audience:
// both cases of each variable, because clients disagree about which they read. A
// variable without value is left out, because clients disagree about what an
// empty one means; so the drop-in of an unproxied cluster is an empty [Service]
// section.
func DropIn(e resolve.Effective, audience noproxy.Audience) ([]byte, error) {
	return fill(systemd.HTTPProxy, e, "drop-in", machineEnvironment(e, audience), systemdAssignment)
}

type variable struct{ name, value string }

// everyVariable lists all of them, also those without a value.
func everyVariable(e resolve.Effective, audience noproxy.Audience) []variable {
	values := map[string]string{
		proxyenv.HTTP: e.HTTP.Reveal(), proxyenv.HTTPS: e.HTTPS.Reveal(), proxyenv.NoProxy: e.NoProxy.For(audience).String(),
	}
	every := make([]variable, 0, len(proxyenv.Names))
	for _, name := range proxyenv.Names {
		every = append(every, variable{name, values[proxyenv.From(name)]})
	}
	return every
}

// environment lists the variables that are set. NO_PROXY never stands without
// a proxy, nor a proxy without NO_PROXY.
func environment(e resolve.Effective, audience noproxy.Audience) []variable {
	return slices.DeleteFunc(everyVariable(e, audience), func(v variable) bool { return v.value == "" })
}

// machineEnvironment returns the variables of a program on a machine, which may have a
// relay.
func machineEnvironment(e resolve.Effective, audience noproxy.Audience) []variable {
	return environment(OnMachine(e), audience)
}

func fill(
	t *template.Template, e resolve.Effective, field string, set []variable, write func(name, value string) (string, error),
) ([]byte, error) {
	assignments, err := assign(e, field, set, write)
	if err != nil {
		return nil, err
	}
	return execute(t, assignments)
}

// assign writes each variable for a place. The error is a *resolve.Problem about the field.
func assign(e resolve.Effective, field string, set []variable, write func(name, value string) (string, error)) ([]string, error) {
	var assignments []string
	for _, v := range set {
		assignment, err := write(v.name, v.value)
		if err != nil {
			return nil, problemAt(e, field, err)
		}
		assignments = append(assignments, assignment)
	}
	return assignments, nil
}

// joinLines returns lines as a file; nil for none.
func joinLines(lines []string) []byte {
	if lines == nil {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// execute returns what a template makes; never nil, which would be null in the
// Secret, and so no key.
func execute(t *template.Template, data any) ([]byte, error) {
	out := bytes.NewBuffer([]byte{})
	err := t.Execute(out, data)
	return out.Bytes(), err
}

// systemdAssignment returns NAME=value, quoted for Environment= of a unit file.
//
// systemd takes the line through three stages (systemd.syntax(7), "Quoting";
// systemd.unit(5), "Specifiers"; src/core/load-fragment.c, config_parse_environ,
// measured with versions 252 and 257): quotes are removed and C escapes are
// undone, an unknown escape drops the whole line; then % starts a specifier, an
// unknown one drops the assignment. "$" and single quotes mean nothing inside
// double quotes and must stay as they are.
//
// On its way to the machine the line is part of a jinja template and of a YAML
// literal block (see checkUserData). So it is written in printable ASCII, which
// no YAML library reads as a line end or refuses, and every { is escaped: {{, {%
// and {# start something in jinja.
func systemdAssignment(name, value string) (string, error) {
	if err := checkVariable(name, value); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`"` + name + `=`)
	for _, r := range value {
		switch {
		case r == '\\', r == '"':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '%':
			b.WriteString("%%")
		case r == '{', isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case r > 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}
