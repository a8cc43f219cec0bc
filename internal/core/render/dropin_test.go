package render_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

const (
	exampleURL  = "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"
	exampleList = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,172.16.0.0/16,internal.corpdomain.net,example.com,svc,127.0.0.1,localhost"
)

func url(tb testing.TB, text string) proxyurl.URL {
	tb.Helper()
	u, err := proxyurl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// list returns the NO_PROXY list that is written as these entries, whatever they are.
func list(entries ...string) noproxy.List {
	var list noproxy.List
	for _, text := range entries {
		list = append(list, noproxy.Item{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: text}})
	}
	return list
}

// lists is the same list for each audience, as in the form Exact.
func lists(entries ...string) noproxy.Lists {
	return noproxy.Lists{Any: list(entries...), Go: list(entries...)}
}

// example returns what the published example resolves to.
func example(tb testing.TB, changes ...func(*resolve.Effective)) resolve.Effective {
	tb.Helper()
	e := resolve.Effective{
		Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeProxied, Proxy: "default", Form: resolve.FormExact,
		HTTP: url(tb, exampleURL), HTTPS: url(tb, exampleURL), NoProxy: lists(strings.Split(exampleList, ",")...),
	}
	for _, change := range changes {
		change(&e)
	}
	return e
}

func blank(mode resolve.Mode) resolve.Effective {
	return resolve.Effective{Namespace: "org-acme", Cluster: "mycluster", Mode: mode}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", path, diff)
	}
}

func TestTheDropInOfThePublishedExample(t *testing.T) {
	dropIn, err := render.DropIn(example(t), noproxy.AudienceGo)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "example.conf", dropIn)
}

// The defect of a system in the field: the drop-in had the installation's list.
func TestTheDropInCarriesTheMergedListInBothCases(t *testing.T) {
	dropIn, err := render.DropIn(example(t), noproxy.AudienceGo)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`Environment="NO_PROXY=` + exampleList + `"`, `Environment="no_proxy=` + exampleList + `"`} {
		if !strings.Contains(string(dropIn), line+"\n") {
			t.Errorf("lacks %s:\n%s", line, dropIn)
		}
	}
}

func TestTheDropInSetsBothCasesOfWhatIsSetAndNothingElse(t *testing.T) {
	for name, test := range map[string]struct {
		effective resolve.Effective
		want      []string
	}{
		"both URLs":   {example(t), []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}},
		"http alone":  {example(t, func(e *resolve.Effective) { e.HTTPS = proxyurl.URL{} }), []string{"HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"}},
		"https alone": {example(t, func(e *resolve.Effective) { e.HTTP = proxyurl.URL{} }), []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}},
		"Direct":      {blank(resolve.ModeDirect), nil},
		"Unproxied":   {blank(resolve.ModeUnproxied), nil},
	} {
		t.Run(name, func(t *testing.T) {
			dropIn, err := render.DropIn(test.effective, noproxy.AudienceGo)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(dropIn), "\n")
			if lines[0] != "[Service]" || lines[len(lines)-1] != "" {
				t.Errorf("not a whole drop-in:\n%s", dropIn)
			}
			var names []string
			for _, line := range lines[1 : len(lines)-1] {
				name, _, _ := strings.Cut(strings.TrimPrefix(line, `Environment="`), "=")
				names = append(names, name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPercentEncodedPasswordIsDoubledForSystemd(t *testing.T) {
	u, err := url(t, "http://proxy.example:3128").WithCredentials("me", `p@ss"\%n`)
	if err != nil {
		t.Fatal(err)
	}
	dropIn, err := render.DropIn(example(t, func(e *resolve.Effective) { e.HTTP, e.HTTPS = u, u }), noproxy.AudienceGo)
	if err != nil {
		t.Fatal(err)
	}
	if want := `Environment="HTTP_PROXY=http://me:p%%40ss%%22%%5C%%25n@proxy.example:3128"`; !strings.Contains(string(dropIn), want) {
		t.Errorf("lacks %s:\n%s", want, dropIn)
	}
}

func TestMoreThanAProcessCanBeGivenIsAProblem(t *testing.T) {
	longest := strings.Repeat("x", render.MaxNoProxyBytes)
	longURL := "http://me:" + longest + "@proxy.example:3128"
	for name, test := range map[string]struct {
		change func(*resolve.Effective)
		field  string
	}{
		"the longest list":      {func(e *resolve.Effective) { e.NoProxy = lists(longest) }, ""},
		"a list too long":       {func(e *resolve.Effective) { e.NoProxy = lists(longest[1:], "y") }, "NO_PROXY"},
		"a password too long":   {func(e *resolve.Effective) { e.HTTP, e.HTTPS = url(t, longURL), proxyurl.URL{} }, "HTTP_PROXY"},
		"another password, too": {func(e *resolve.Effective) { e.HTTPS = url(t, longURL) }, "HTTPS_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			secrets, err := render.Secrets(example(t, test.change))
			if test.field == "" {
				if err != nil || len(secrets) != 2 {
					t.Fatalf("%v (%v)", secrets, err)
				}
				return
			}
			var p *resolve.Problem
			if !errors.As(err, &p) || p.Reason != resolve.ReasonTooLarge || p.Field != test.field || p.Object != "Cluster org-acme/mycluster" {
				t.Fatalf("got %#v", err)
			}
			if len(secrets) != 0 || len(p.Error()) > 300 {
				t.Errorf("came with %v and says %q", secrets, p)
			}
		})
	}
}
