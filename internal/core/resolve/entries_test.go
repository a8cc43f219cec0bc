package resolve_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

func TestEveryRefusedEntryIsNamedAndNoneIsDropped(t *testing.T) {
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: "Secret corporate-proxy", Field: "data.noProxy"}
	list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled("ok.example, 10.*,,\nhttp://h:1,fine,a b", source), nil)
	var p *resolve.Problem
	if !errors.As(err, &p) || list != nil {
		t.Fatalf("got %v (%v)", list, err)
	}
	want := []string{
		`data.noProxy[1]: "10.*": a wildcard stands alone or as the first label (Wildcard)`,
		`data.noProxy[3]: "http://h:***": write the host without the scheme in front (Scheme)`,
		`data.noProxy[5]: "a b": contains white space; separate entries with commas (Space)`,
	}
	if diff := cmp.Diff(want, p.Refusals); diff != "" {
		t.Error(diff)
	}
	text := `Secret corporate-proxy: data.noProxy[1]: "10.*": a wildcard stands alone or as the first label (Wildcard) (and 2 more refused)`
	if p.Error() != text || p.Reason != resolve.ReasonInvalidProxy {
		t.Errorf("%s: %s\nwant %s", p.Reason, p, text)
	}
}

// Commas cut the URL into entries, and each may be a part of the password; so may what is said of each.
func TestNoEntryIsShownOnceAProxyURLIsAmongThem(t *testing.T) {
	for list, position := range map[string]int{"http://me:a,b%b,c c@h:1": 0, "me,b%b,c c@h:1": 2, "x,\nhttp://me:a,b%b,c c": 1} {
		_, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled(list, noproxy.Source{Field: "noProxy"}), nil)
		var p *resolve.Problem
		if !errors.As(err, &p) || len(p.Refusals) != 1 {
			t.Fatalf("got %v", err)
		}
		if refusal := p.Refusals[0]; !strings.HasPrefix(refusal, fmt.Sprintf("noProxy[%d]: \"(hidden", position)) || strings.Contains(err.Error()+refusal, "%") {
			t.Errorf("%s: %s", err, refusal)
		}
	}
}

func TestNoEntriesAreAnEmptyList(t *testing.T) {
	if list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled(" ,\n", noproxy.Source{}), nil); err != nil || len(list) != 0 {
		t.Errorf("got %v (%v)", list, err)
	}
}

// resolve panics or writes nothing for one of them if it does not parse: its
// error is not looked at there.
func TestEveryBuiltinEntryParses(t *testing.T) {
	effective, err := resolve.Resolve(example(t))
	if err != nil {
		t.Fatal(err)
	}
	var builtin []string
	for _, item := range effective.Entries {
		if item.Sources[0].Layer != noproxy.LayerBuiltin {
			continue
		}
		builtin = append(builtin, item.Entry.String())
		if again, err := noproxy.Parse(item.Entry.String()); err != nil || again != item.Entry {
			t.Errorf("%q is %+v (%v), not %+v", item.Entry, again, err, item.Entry)
		}
	}
	if diff := cmp.Diff([]string{"svc", "127.0.0.1", "localhost"}, builtin); diff != "" {
		t.Error(diff)
	}
}

func TestAProblemNamesObjectAndField(t *testing.T) {
	for want, p := range map[string]*resolve.Problem{
		"Cluster a/b: spec.x: wrong": {Object: "Cluster a/b", Field: "spec.x", Detail: "wrong"},
		"Cluster a/b: wrong":         {Object: "Cluster a/b", Detail: "wrong"},
	} {
		if got := fmt.Errorf("%w", p).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
