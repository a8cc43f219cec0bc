package lists

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// assignment is one of a shell, of systemd, or of a file of variables, as a whole in quotation marks or not. In a list, a
// blank may follow a comma.
var assignment = regexp.MustCompile(`(?i)"(https?_proxy|no_proxy)=([^"]*)"|'(https?_proxy|no_proxy)=([^']*)'|` +
	`(?:^|[\s;&])(https?_proxy|no_proxy)=(?:"([^"]*)"|'([^']*)'|((?:,[ \t]+|[^\s"';&)])*))`)

// forOne matches the rest of a line where the assignment is for one shell command, to one URL.
var forOne = regexp.MustCompile(`^["']?\s+(?:\S+=\S*\s+)*(?:\S*/)?(?:curl|wget)\b`)

// start matches the text before an assignment that a line is for. An empty assignment elsewhere is only mentioned.
var start = regexp.MustCompile(`^(?:export|declare -x|ENV|Environment=)?["'\s]*$`)

// most bytes beside an assignment are looked at.
const most = 200

// structure matches the beginning of a line of JSON or YAML.
var structure = regexp.MustCompile(`^\s*(?:[{\[]|[\w-]+: )`)

// text may be YAML, or have assignments in it.
func (w *walker) text(at, text string) {
	if !strings.Contains(strings.ToLower(text), "proxy") {
		return
	}
	if strings.Contains(text, "\n") || structure.MatchString(text) {
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

// structured walks through the content of a text, unless it is only text.
func (w *walker) structured(at string, content any) {
	if _, isText := content.(string); !isText {
		w.value(at, content)
	}
}

func (w *walker) assignments(at, text string) {
	g := w.group(at)
	for line := range strings.SplitSeq(strings.NewReplacer("\\\n", "", `\"`, "'").Replace(text), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		g.traits.inGo = g.traits.inGo || strings.HasPrefix(line, "Environment=") // of systemd, for daemons
		for _, found := range assignment.FindAllStringSubmatchIndex(line, -1) {
			group := func(n int) string { return line[max(found[2*n], 0):max(found[2*n+1], 0)] }
			written := group(1) + group(3) + group(5)
			value := strings.Trim(group(2)+group(4)+group(6)+group(7)+group(8), `"'`)
			name, _ := canonical(written)
			if value == "" && (found[0] > most || !start.MatchString(line[:found[0]])) || forOne.MatchString(line[found[1]:min(len(line), found[1]+most)]) {
				continue
			}
			w.set(g, name, at+" "+written, value)
		}
	}
	w.add(g)
}

// encoded returns the text of a file of bootstrap providers that is in base64 (files[] of KubeadmConfigSpec).
func encoded(m map[string]any) (string, bool) {
	content, _ := m["content"].(string)
	if m["encoding"] != "base64" {
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(content)
	return string(text), err == nil && utf8.Valid(text)
}

// decoded returns a Secret with its data as text.
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
