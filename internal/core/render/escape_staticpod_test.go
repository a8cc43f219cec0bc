package render

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestEveryValueOfAStaticPodIsWrittenForKubernetesYAMLAndJinja(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"plain":                 {"http://me:p%40ss@proxy:3128", `"http://me:p%40ss@proxy:3128"`},
		"a reference":           {"$(HOME)", `"$$(HOME)"`},
		"dollars":               {"$ $$ a$", `"$$ $$$$ a$$"`},
		"what JSON escapes":     {`a"b\c`, `"a\u0022b\u005cc"`},
		"a line end, a control": {"\n\x01", `"\u000a\u0001"`},
		"jinja":                 {"{{ x }}", `"\u007b\u007b x }}"`},
		"UTF-8":                 {"é€\u2028", `"\u00e9\u20ac\u2028"`},
		"above U+FFFF":          {"😀", `"😀"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := staticPodValue("V", test.value)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
			checkStaticPodValue(t, test.value, got)
		})
	}
}

func TestWhatKubeadmCannotWriteIntoAManifestIsRefusedWithoutShowingIt(t *testing.T) {
	for name, character := range map[string]string{"DEL": "\x7f", "NEL": "\u0085", "a C1 control": "\u009f", "a BOM": "\ufeff"} {
		written, err := staticPodValue("NO_PROXY", "S3CRET"+character)
		if err == nil || !strings.Contains(err.Error(), "NO_PROXY") || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %s (%v)", name, written, err)
		}
	}
}

// expand does what Kubernetes does with a value where no variable is defined that
// it could name (third_party/forked/golang/expansion): $$ is $, and $(NAME) is
// marked, since a container has variables of its own.
func expand(text string) string {
	return strings.NewReplacer("$$", "$", "$(", "EXPANDED(").Replace(text)
}

// checkStaticPodValue is the invariant: JSON and YAML read the same, which
// Kubernetes expands to the value; jinja finds nothing to start, and nothing
// needs more than the line it is on.
func checkStaticPodValue(tb failer, value string, written json.RawMessage) {
	tb.Helper()
	if err := checkUserData(string(written)); err != nil || strings.Contains(string(written), "\n") {
		tb.Fatalf("%q: %v", written, err)
	}
	var fromJSON, fromYAML string
	if err := json.Unmarshal(written, &fromJSON); err != nil {
		tb.Fatalf("%q is no JSON: %v", written, err)
	}
	if err := yaml.Unmarshal(written, &fromYAML); err != nil {
		tb.Fatalf("%q is no YAML: %v", written, err)
	}
	if fromJSON != fromYAML || expand(fromJSON) != value {
		tb.Fatalf("%q is read as %q and %q, which becomes %q", value, fromJSON, fromYAML, expand(fromJSON))
	}
}

func TestAnyValueComesBackFromAStaticPod(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(nastyPieces), rapid.SampledFrom([]string{"$(", "$((", ")", "$(HOME)"}))
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		written, err := staticPodValue("V", value)
		if (err == nil) != (carriable(value) && !strings.ContainsFunc(value, isLostInManifest)) {
			t.Fatalf("%q: %v", value, err)
		}
		if err == nil {
			checkStaticPodValue(t, value, written)
		}
	})
}

// A reason that changes from look to look would be a write of the report each time.
func TestOfSeveralRefusalsAlwaysTheSameIsReported(t *testing.T) {
	e := effective(t, "a\u0085")
	e.Node = resolve.Node{Files: []resolve.NodeFile{resolve.FileStaticPods}, StaticPods: resolve.StaticPodsSet}
	for range 50 {
		if _, err := Secrets(e); err == nil || !strings.Contains(err.Error(), "kube-apiserver patch") {
			t.Fatal(err)
		}
	}
}

func FuzzStaticPodValue(f *testing.F) {
	for _, piece := range nastyPieces {
		f.Add(piece)
	}
	f.Add("$(HOME)$$(\xff")
	f.Fuzz(func(t *testing.T, value string) {
		written, err := staticPodValue("V", value)
		if (err == nil) != (carriable(value) && !strings.ContainsFunc(value, isLostInManifest)) {
			t.Fatalf("%q: %v", value, err)
		}
		if err == nil {
			checkStaticPodValue(t, value, written)
		}
	})
}
