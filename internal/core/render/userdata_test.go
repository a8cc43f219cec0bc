package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestATextThatUserDataChangesIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want string // of the refusal; empty where it arrives
	}{
		"nothing":                     {"", ""},
		"a drop-in":                   {"[Service]\nEnvironment=\"A=%%40\"\n", ""},
		"no line end":                 {"a", ""},
		"several line ends":           {"a\n\n\n", ""},
		"an empty line in front":      {"\nA=1\n", ""},
		"blanks in later lines":       {"a\n  b\n\tc\n \n", ""},
		"a tab and a quote":           {"a\t\"b' # c: - |\n", ""},
		"a separator of documents":    {"---\na\n...\n", ""},
		"single braces":               {"{ \"a\": {\"b\": 1} }} %} #}\n", ""},
		"an emoji":                    {"😀é\u00a0\n", ""},
		"a blank in front":            {" a\n", "blank"},
		"a tab in front":              {"\ta\n", "blank"},
		"a blank after an empty line": {"\n a\n", "blank"},
		"blanks alone":                {"   \n", "blank"},
		"a carriage return":           {"a\r\nb\n", "control character"},
		"a NUL byte":                  {"a\x00", "control character"},
		"an escape character":         {"\x1b[0m", "control character"},
		"a DEL":                       {"\x7f", "control character"},
		"NEL":                         {"a\u0085b", "line end"},
		"a C1 control":                {"\u009f", "control character"},
		"a line separator":            {"a\u2028b", "line end"},
		"a paragraph separator":       {"a\u2029b", "line end"},
		"a byte order mark":           {"a\ufeffb", "control character"},
		"U+FFFE":                      {"\ufffe", "control character"},
		"invalid UTF-8":               {"\xff", "UTF-8"},
		"an expression":               {"a {{ x }}", "jinja"},
		"a statement":                 {"a {% x %}", "jinja"},
		"a comment of jinja":          {"a {# x #}", "jinja"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkUserData(test.text)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("says %v", err)
			}
		})
	}
}

func TestAKeyThatUserDataCannotCarryIsAProblemWithTwinsToo(t *testing.T) {
	for text, want := range map[string]string{"\x1b": "control character", "\u0085": "line end", "\u2028": "line end"} {
		for _, twins := range []bool{false, true} {
			e := effective(t, "a"+text)
			e.Node = resolve.Node{Files: []resolve.NodeFile{resolve.FileEnvironmentFile}, Base64Twins: twins}
			secrets, err := Secrets(e)
			var p *resolve.Problem
			if !errors.As(err, &p) || p.Reason != resolve.ReasonNotCarriable || p.Object != "Cluster org-acme/mycluster" || len(secrets) != 0 ||
				!strings.Contains(p.Field, EnvironmentFileKey) || !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "base64Twins") {
				t.Errorf("%q: %v (%v)", text, secrets, err)
			}
		}
	}
}

// Whatever jinja could start with is written so that it does not.
func TestEveryKeyArrivesWhateverIsInTheList(t *testing.T) {
	for _, text := range []string{"{{ x }}", "{% x %}", "{# x #}", " é€😀", "a\nb", `"'`, "\\%$(x)"} {
		e := effective(t, text)
		e.Node.Files = []resolve.NodeFile{resolve.FileEnvironmentFile, resolve.FileRKE2, resolve.FileK3s, resolve.FileStaticPods}
		for _, mode := range []resolve.StaticPods{resolve.StaticPodsStrip, resolve.StaticPodsExtend, resolve.StaticPodsSet} {
			e.Node.StaticPods = mode
			if _, err := Secrets(e); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

// reader does what the kubeadm bootstrap provider and cloud-init do: the text is
// indented below "content: |", and read by jinja2 and PyYAML, which cloud-init
// reads with.
const reader = `
import json, sys
import jinja2, yaml
def arrives(text):
    data = "## template: jinja\n#cloud-config\n\nwrite_files:\n-   path: /a\n    content: |\n      " + text.replace("\n", "\n      ") + "\n-   path: /b\n    content: |\n      b\n"
    try:
        data = jinja2.Template(data, undefined=jinja2.DebugUndefined, trim_blocks=True, extensions=["jinja2.ext.do"]).render()
        files = yaml.safe_load(data)["write_files"]
        return files[0]["content"] if len(files) == 2 and files[1]["content"].strip() == "b" else None
    except Exception:
        return None
json.dump([arrives(text) for text in json.load(sys.stdin)], sys.stdout)
`

// arrivals asks the real libraries what arrives of each text; nil where nothing does.
func arrivals(t *testing.T, texts []string) []*string {
	t.Helper()
	if err := exec.Command("/usr/bin/python3", "-c", "import jinja2, yaml").Run(); err != nil {
		without(t, "there are no jinja2 and PyYAML here: what reads user data was not asked")
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", reader)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var arrived []*string
	if err := json.Unmarshal(out, &arrived); err != nil {
		t.Fatal(err)
	}
	return arrived
}

// ends returns what every text ends with when it arrives.
func ends(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

func TestWhatIsNotRefusedArrivesThroughJinjaAndYAML(t *testing.T) {
	pieces := append([]string{"[Service]\n", "A=1\n", "\n", "\n\n", "  \n", "{", "{{", "}}", "{%", "%}", "{#", "#}", "#", "##", "---\n", "# -", "\r", "\ufffd"}, nastyPieces...)
	generator := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "pieces"), "")
	})
	var texts, refused []string
	for i := range 1000 {
		text := generator.Example(i)
		if checkUserData(text) == nil {
			texts = append(texts, text)
		} else {
			refused = append(refused, text)
		}
	}
	for i, got := range arrivals(t, texts) {
		if got == nil || ends(*got) != ends(texts[i]) {
			t.Errorf("%q does not arrive", texts[i])
		}
	}
	// A gate that refuses everything would pass, too.
	changed := 0
	for i, got := range arrivals(t, refused) {
		if got == nil || ends(*got) != ends(refused[i]) {
			changed++
		}
	}
	if len(texts) < 500 || changed < 150 || changed < len(refused)/2 {
		t.Errorf("of 1000 texts %d arrive; of %d refused ones %d would not have", len(texts), len(refused), changed)
	}
	t.Logf("%d arrive; of %d refused ones %d would not have", len(texts), len(refused), changed)
}
