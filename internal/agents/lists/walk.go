package lists

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// In returns the places of settings in an object of a file. The title is the object's; it may be no Kubernetes object.
func In(file, title string, object map[string]any) []Place {
	if isLeftOut(object) {
		return nil
	}
	w := walker{file: file, how: kindTraits{adds: isElsewhere(object)}, object: explain.Shown(title), cluster: clusterOf(object)}
	w.value("", object)
	return w.places
}

type walker struct {
	file    string
	object  string
	cluster string
	how     kindTraits
	places  []Place
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

// fields are the fields of an object, or what looks like one.
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
		name, ok := canonical(key)
		text, isText := joined(m[key])
		switch {
		case unread[key] || prose.MatchString(key) || isText && password.IsOf(key) && !file.MatchString(key):
		case isText && isProxyURL(key) && (w.how.url || m["noProxy"] != nil || m["no_proxy"] != nil):
			g.traits.adds = g.traits.adds || key == "proxy_url" // of Prometheus, whose targets are elsewhere
			w.set(g, proxyenv.HTTPS, under(at, key), text)
		case ok && isText:
			w.set(g, name, under(at, key), text)
		case key == "metadata" || key == "annotations":
			w.annotations(under(at, key), m[key])
		case key == "env" && isAList(m[key]):
			w.environment(at, m)
		default:
			w.value(under(at, key), m[key])
		}
	}
	g.complete = w.how.none
	if isOurs(m) {
		g.traits.adds, g.traits.ours = true, true
	}
	w.add(g)
}

// file is a name whose text is more than one value.
var file = regexp.MustCompile(`\.(ya?ml|json|env|conf|cfg|toml|ini|sh|properties)$`)

// isOurs tells whether these are proxy.http, proxy.https and proxy.noProxy of Fairlead's values, to which the operator adds what clusters need.
func isOurs(m map[string]any) bool {
	_, http := m["http"].(string)
	_, https := m["https"].(string)
	return (http || https) && m["noProxy"] != nil
}

func isProxyURL(key string) bool { return key == "proxyURL" || key == "proxyUrl" || key == "proxy_url" }

// unread are fields that nobody can mend, or that are prose.
var unread = map[string]bool{
	"apiVersion": true, "kind": true, "status": true, "managedFields": true, "description": true, "encryptedData": true,
	"labels": true, "matchLabels": true, "nodeSelector": true, "selector": true,
}

// prose is a name whose text is for people.
var prose = regexp.MustCompile(`(?i)\.(md|txt|html|adoc|rst)$`)

// entriesKey is the annotation with entries that come to the cluster's list.
const entriesKey = "fairlead.io/no-proxy"

func (w *walker) annotations(at string, value any) {
	m, _ := value.(map[string]any)
	if inner, ok := m["annotations"].(map[string]any); ok {
		m, at = inner, under(at, "annotations")
	}
	if text, ok := m[entriesKey].(string); ok {
		g := w.group(at)
		g.traits.adds = true
		g.set(proxyenv.NoProxy, under(at, entriesKey), text)
		w.add(g)
	}
}

func (w *walker) list(at string, all []any) {
	w.variables(w.group(at), all)
	w.arguments(at, all)
}

// environment takes the variables of a container, or of a mapping that looks like one.
func (w *walker) environment(at string, container map[string]any) {
	g := w.group(under(at, "env"))
	if strings.Contains(strings.ToLower(at), "containers[") {
		c, err := tunnel.Read[tunnel.Container](container)
		g.traits.adds = g.traits.adds || err == nil && tunnel.AsksOneServer(c)
		g.complete = container["envFrom"] == nil && !g.traits.adds
	}
	w.variables(g, container["env"].([]any))
}

// variables are objects with a name and a value, and so are parameters of charts.
func (w *walker) variables(g *Place, all []any) {
	at := g.Path
	for i, one := range all {
		m, ok := one.(map[string]any)
		if !ok {
			continue
		}
		written, _ := m["name"].(string)
		name, ok := canonical(written[strings.LastIndexByte(written, '.')+1:])
		text, isText := m["value"].(string)
		switch {
		case ok && isText:
			w.set(g, name, fmt.Sprintf("%s[%d].value", at, i), strings.ReplaceAll(text, `\,`, ","))
		case ok && m["value"] == nil && m["valueFrom"] == nil:
			w.set(g, name, fmt.Sprintf("%s[%d]", at, i), "")
		case ok:
			g.refer(name, fmt.Sprintf("%s[%d]", at, i))
		case !isText || strings.Contains(text, "\n") || !password.IsOf(written):
			w.value(fmt.Sprintf("%s[%d]", at, i), m)
		}
	}
	w.add(g)
}

// flag is one with its value.
var flag = regexp.MustCompile(`(?s)^--?([A-Za-z][\w.-]*)(?:=(.*))?$`)

// plainList matches a word behind a flag that looks like a list. The flag may take no value; the word is then something else,
// which may have a password in it, and must not be shown as a list.
var plainList = regexp.MustCompile(`^(?:localhost|[A-Za-z0-9_*\[]*[.,:][A-Za-z0-9.,:/*\[\]_ -]*)$`)

// once is a program that is asked for one URL, so that its list is for that.
var once = regexp.MustCompile(`(?:^|/)(?:curl|wget)$`)

// arguments are texts. One may be a flag, and the next its value.
func (w *walker) arguments(at string, all []any) {
	g := w.group(at)
	for i, one := range all {
		text, ok := one.(string)
		if once.MatchString(text) {
			break
		}
		if !ok {
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
		name, ok := canonical(match[1][strings.LastIndexByte(match[1], '.')+1:])
		switch {
		case ok && strings.Contains(text, "="):
			w.set(g, name, fmt.Sprintf("%s[%d]", at, i), match[2])
		case ok && i+1 < len(all):
			if next, _ := all[i+1].(string); !isList(name) && !strings.HasPrefix(next, "-") || plainList.MatchString(next) && !strings.Contains(next, "://") && next != "*" {
				w.set(g, name, fmt.Sprintf("%s[%d]", at, i+1), next)
			}
		}
	}
	w.add(g)
}

func flagOfPassword(word any) bool {
	text, _ := word.(string)
	return strings.HasPrefix(text, "-") && !strings.Contains(text, "=") && password.IsOf(text)
}

func (w *walker) group(at string) *Place {
	return &Place{File: w.file, Object: w.object, cluster: w.cluster, Path: explain.Shown(at), values: map[string]string{}, fields: map[string]string{}, traits: w.how}
}

// add keeps what has a list, or a proxy's URL.
func (w *walker) add(g *Place) {
	proxy := false
	for name, field := range g.fields {
		if value, ok := g.values[name]; isList(name) {
			if !ok && field != "" {
				return // it is in another object: nobody can judge it
			}
		} else {
			proxy = proxy || !ok || value != ""
			if !hasList(g.fields) && !strings.Contains(value, "://") && ok { // a word that is none
				delete(g.values, name)
			}
		}
	}
	g.complete = g.complete && proxy
	list := g.values[proxyenv.NoProxy] + g.values[proxyenv.LowerNoProxy]
	if g.complete || list != "" || hasList(g.fields) && proxy && !g.traits.adds || !hasList(g.fields) && len(g.values) > 0 {
		w.places = append(w.places, *g)
	}
}

func isAList(value any) bool {
	_, ok := value.([]any)
	return ok
}

func isList(name string) bool { return strings.EqualFold(name, proxyenv.NoProxy) }

// hasList tells whether one of the variables is a list.
func hasList(byName map[string]string) bool {
	_, upper := byName[proxyenv.NoProxy]
	_, lower := byName[proxyenv.LowerNoProxy]
	return upper || lower
}

// reference matches a reference to a value outside the text: a variable, or a template's. No entry contains any of
// these.
var reference = regexp.MustCompile("[$%`<]|\\{\\{|\\(\\(|\\[\\[|\\.\\.\\.|^vault:|^ENC\\[|^(?i:true|false|on|off|yes|no|none|enabled|disabled|all)$")

// set notes a setting. A list in place of another is one by itself.
func (w *walker) set(g *Place, name, field, text string) {
	if before, ok := g.values[name]; ok && isList(name) && before != text {
		other := w.group(g.Path)
		other.traits = g.traits
		other.set(name, g.fields[name], before)
		w.add(other)
	}
	g.set(name, field, text)
}

// word matches a text that may be an entry, valid or not.
var word = regexp.MustCompile(`^(?:[\pL\pN._*][\pL\pN._*/-]*(?::\d+)?|[0-9a-fA-F:.\[\]/]+|https?://[\pL\pN.-]+(?::\d+)?/?)?$`)

// shown returns a list up to the first text that cannot be an entry, such as another assignment or a flag. The rest may
// be a password.
func shown(list string) string {
	entries := strings.Split(list, ",")
	for i, entry := range entries {
		for _, one := range strings.Fields(entry) {
			if !word.MatchString(one) {
				return strings.Join(append(entries[:i:i], "***"), ",")
			}
		}
	}
	return list
}

func (p *Place) set(name, field, text string) {
	if reference.MatchString(text) {
		p.refer(name, field)
		return
	}
	if isList(name) {
		text = shown(text)
	}
	if p.traits.bare && !isList(name) && text != "" && !strings.Contains(text, "://") {
		text = "http://" + text
	}
	p.values[name], p.fields[name] = text, explain.Shown(field)
}

// refer notes a setting whose value is elsewhere.
func (p *Place) refer(name, field string) {
	delete(p.values, name)
	p.fields[name] = explain.Shown(field)
}

// canonical returns the variable that a key stands for: noProxy, no-proxy and NO_PROXY are one.
func canonical(key string) (string, bool) {
	switch key {
	case proxyenv.LowerHTTP, proxyenv.LowerHTTPS, proxyenv.LowerNoProxy:
		return key, true
	}
	name, ok := variableNames[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))]
	return name, ok
}

var variableNames = map[string]string{"httpproxy": proxyenv.HTTP, "httpsproxy": proxyenv.HTTPS, "noproxy": proxyenv.NoProxy}

// joined returns a text, or a list of texts as NO_PROXY has it.
func joined(value any) (string, bool) {
	if text, ok := value.(string); ok {
		return text, true
	}
	list, ok := value.([]any)
	texts := make([]string, len(list))
	for i, one := range list {
		text, isText := one.(string)
		texts[i], ok = text, ok && isText
	}
	return strings.Join(texts, ","), ok
}

func under(at, key string) string {
	key = noproxy.Redacted(key) // it may be a URL
	if at := strings.IndexAny(key, "=: "); at > 0 && !strings.Contains(key, "***") {
		key = key[:at+1] + "***"
	}
	if at == "" || strings.HasSuffix(at, " ") {
		return at + key
	}
	return at + "." + key
}
