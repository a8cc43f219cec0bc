package lists

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// In finds the settings in an object of a file, or in what is none. The title is the object's.
func In(file, title string, object map[string]any) []Place {
	w := walker{file: file, object: explain.Shown(title)}
	w.value("", object)
	return w.places
}

type walker struct {
	file   string
	object string
	how    how
	places []Place
}

func (w *walker) value(at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		w.fields(at, v)
	case []any:
		w.list(at, v)
	case string:
		w.text(at, v)
	}
}

// fields are those of an object, or what looks like one.
func (w *walker) fields(at string, m map[string]any) {
	if kind, _ := m["kind"].(string); kind != "" && m["apiVersion"] != nil {
		if isLeftOut(m) {
			return
		}
		before := w.how
		w.how = howOf(m)
		defer func() { w.how = before }()
		m = decoded(m)
	}
	if text, ok := encoded(m); ok {
		w.text(under(at, "content"), text)
		return
	}
	g := w.group(at)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		name, is := canonical(key)
		text, isText := joined(m[key])
		switch {
		case unread[key] || isText && password.IsOf(key):
		case is && isText:
			g.set(name, under(at, key), text)
		case key == "metadata" || key == "annotations":
			w.annotations(under(at, key), m[key])
		case key == "env" && isAList(m[key]):
			w.environment(at, m)
		default:
			w.value(under(at, key), m[key])
		}
	}
	g.known = w.how.none
	w.add(g)
}

// unread are fields that nobody can mend, or that are prose.
var unread = map[string]bool{"apiVersion": true, "kind": true, "status": true, "managedFields": true, "description": true}

// entriesKey is the annotation with entries that come to the cluster's list.
const entriesKey = "fairlead.io/no-proxy"

func (w *walker) annotations(at string, value any) {
	m, _ := value.(map[string]any)
	if inner, is := m["annotations"].(map[string]any); is {
		m, at = inner, under(at, "annotations")
	}
	if text, is := m[entriesKey].(string); is {
		g := w.group(at)
		g.how.adds = true
		g.set("NO_PROXY", under(at, entriesKey), text)
		w.add(g)
	}
}

func (w *walker) list(at string, all []any) {
	w.variables(w.group(at), all)
	w.arguments(at, all)
}

// environment is that of a container, or of what looks like one.
func (w *walker) environment(at string, container map[string]any) {
	g := w.group(under(at, "env"))
	if strings.Contains(strings.ToLower(at), "containers[") {
		c, err := tunnel.Read[tunnel.Container](container)
		g.how.adds = g.how.adds || err == nil && tunnel.AsksOneServer(c)
		g.known = container["envFrom"] == nil && !g.how.adds
	}
	w.variables(g, container["env"].([]any))
}

// variables are objects with a name and a value, and so are parameters of charts.
func (w *walker) variables(g *Place, all []any) {
	at := g.Path
	for i, one := range all {
		m, is := one.(map[string]any)
		if !is {
			continue
		}
		written, _ := m["name"].(string)
		name, is := canonical(written[strings.LastIndexByte(written, '.')+1:])
		text, isText := m["value"].(string)
		switch {
		case is && isText:
			g.set(name, fmt.Sprintf("%s[%d].value", at, i), strings.ReplaceAll(text, `\,`, ","))
		case is && m["value"] == nil && m["valueFrom"] == nil:
			g.set(name, fmt.Sprintf("%s[%d]", at, i), "")
		case is:
			g.refer(name, fmt.Sprintf("%s[%d]", at, i))
		case !isText || !password.IsOf(written):
			w.value(fmt.Sprintf("%s[%d]", at, i), m)
		}
	}
	w.add(g)
}

// flag is one with its value.
var flag = regexp.MustCompile(`(?s)^--?([A-Za-z][\w.-]*)(?:=(.*))?$`)

// noValue is what stands behind a flag that takes no value, as --no-proxy of wget: another flag, or what is asked for. It may
// have a password in it. A list that is * is meant for one command.
var noValue = regexp.MustCompile(`^-|://|^\*$`)

// arguments are texts, of which one may be a flag of the next.
func (w *walker) arguments(at string, all []any) {
	g := w.group(at)
	for i, one := range all {
		text, is := one.(string)
		if !is {
			if _, isMap := one.(map[string]any); !isMap {
				w.value(fmt.Sprintf("%s[%d]", at, i), one)
			}
			continue
		}
		match := flag.FindStringSubmatch(text)
		if match == nil {
			if i == 0 || !flagOfPassword(all[i-1]) {
				w.text(fmt.Sprintf("%s[%d]", at, i), text)
			}
			continue
		}
		name, is := canonical(match[1][strings.LastIndexByte(match[1], '.')+1:])
		switch {
		case is && strings.Contains(text, "="):
			g.set(name, fmt.Sprintf("%s[%d]", at, i), match[2])
		case is && i+1 < len(all):
			if next, _ := all[i+1].(string); !isList(name) || !noValue.MatchString(next) {
				g.set(name, fmt.Sprintf("%s[%d]", at, i+1), next)
			}
		}
	}
	w.add(g)
}

func flagOfPassword(word any) bool {
	text, _ := word.(string)
	return strings.HasPrefix(text, "-") && !strings.Contains(text, "=") && password.IsOf(text)
}

// assignment is one of a shell, of systemd, or of a file of variables, as a whole in quotation marks or not. In a list, a
// blank may follow a comma.
var assignment = regexp.MustCompile(`(?i)"(https?_proxy|no_proxy)=([^"]*)"|'(https?_proxy|no_proxy)=([^']*)'|` +
	`(?:^|[\s;&])(https?_proxy|no_proxy)=(?:"([^"]*)"|'([^']*)'|((?:,[ \t]+|[^\s"';&])*))`)

// text may be YAML, or have assignments in it.
func (w *walker) text(at, text string) {
	if !strings.Contains(strings.ToLower(text), "proxy") {
		return
	}
	if strings.Contains(text, "\n") || strings.HasPrefix(strings.TrimSpace(text), "{") {
		for i, document := range strings.Split(text, "\n---\n") {
			before := len(w.places)
			var content any
			if err := yaml.Unmarshal([]byte(document), &content); err == nil {
				w.structured(strings.TrimSuffix(fmt.Sprintf("%s(%d)", at, i+1), "(1)")+" ", content)
			}
			if len(w.places) == before { // a unit of systemd may be YAML, too
				w.assignments(at, document)
			}
		}
		return
	}
	w.assignments(at, text)
}

// structured is what a text is, unless that is only a text.
func (w *walker) structured(at string, content any) {
	if _, isText := content.(string); !isText {
		w.value(at, content)
	}
}

func (w *walker) assignments(at, text string) {
	g := w.group(at)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		g.how.inGo = g.how.inGo || strings.HasPrefix(line, "Environment=") // of systemd, for daemons
		for _, match := range assignment.FindAllStringSubmatch(line, -1) {
			written := match[1] + match[3] + match[5]
			name, _ := canonical(written)
			g.set(name, at+" "+written, match[2]+match[4]+match[6]+match[7]+match[8])
		}
	}
	w.add(g)
}

func (w *walker) group(at string) *Place {
	return &Place{File: w.file, Object: w.object, Path: explain.Shown(at), values: map[string]string{}, fields: map[string]string{}, how: w.how}
}

// add keeps what has a list, or a proxy's URL.
func (w *walker) add(g *Place) {
	proxy := false
	for name, field := range g.fields {
		if value, known := g.values[name]; isList(name) {
			if !known && field != "" {
				return // it is in another object: nobody can judge it
			}
		} else {
			proxy = proxy || !known || value != ""
			if !g.hasList() && !strings.Contains(value, "://") && known { // a word that is none
				delete(g.values, name)
			}
		}
	}
	g.known = g.known && proxy
	list := g.values["NO_PROXY"] + g.values["no_proxy"]
	if g.known || list != "" || g.hasList() && proxy && !g.how.adds || !g.hasList() && len(g.values) > 0 {
		w.places = append(w.places, *g)
	}
}

func isAList(value any) bool {
	_, is := value.([]any)
	return is
}

func isList(name string) bool { return strings.EqualFold(name, "NO_PROXY") }

func (p *Place) hasList() bool {
	_, upper := p.fields["NO_PROXY"]
	_, lower := p.fields["no_proxy"]
	return upper || lower
}

// reference is to what is not in the text: a variable, or a template's.
var reference = regexp.MustCompile(`\$\(|\$\{|\$[A-Za-z_]|\{\{`)

func (p *Place) set(name, field, text string) {
	if reference.MatchString(text) {
		p.refer(name, field)
		return
	}
	if p.how.bare && !isList(name) && text != "" && !strings.Contains(text, "://") {
		text = "http://" + text
	}
	p.values[name], p.fields[name] = text, explain.Shown(field)
}

// refer notes a setting whose value is elsewhere.
func (p *Place) refer(name, field string) {
	delete(p.values, name)
	p.fields[name] = explain.Shown(field)
}

// canonical is the variable that a key stands for: noProxy, no-proxy and NO_PROXY are one.
func canonical(key string) (string, bool) {
	switch key {
	case "http_proxy", "https_proxy", "no_proxy":
		return key, true
	}
	switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key)) {
	case "httpproxy":
		return "HTTP_PROXY", true
	case "httpsproxy", "proxyurl": // of KlusterletConfig and Prometheus
		return "HTTPS_PROXY", true
	case "noproxy":
		return "NO_PROXY", true
	}
	return "", false
}

// joined is a text, or a list of texts as NO_PROXY has it.
func joined(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case []any:
		all := make([]string, len(v))
		for i, one := range v {
			text, is := one.(string)
			if !is {
				return "", false
			}
			all[i] = text
		}
		return strings.Join(all, ","), true
	}
	return "", false
}

// encoded is the text of a file of bootstrap providers that is in base64 (files[] of KubeadmConfigSpec).
func encoded(m map[string]any) (string, bool) {
	content, _ := m["content"].(string)
	if m["encoding"] != "base64" {
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(content)
	return string(text), err == nil && utf8.Valid(text)
}

// decoded is a Secret with its data as text.
func decoded(object map[string]any) map[string]any {
	data, _ := object["data"].(map[string]any)
	if object["kind"] != "Secret" || data == nil {
		return object
	}
	plain := map[string]any{}
	for key, value := range data {
		encoded, _ := value.(string)
		if text, err := base64.StdEncoding.DecodeString(encoded); err == nil && utf8.Valid(text) {
			plain[key] = string(text)
		}
	}
	object = maps.Clone(object)
	object["data"] = plain
	return object
}

func under(at, key string) string {
	key = noproxy.Redacted(key) // it may be a URL
	if at == "" || strings.HasSuffix(at, " ") {
		return at + key
	}
	return at + "." + key
}
