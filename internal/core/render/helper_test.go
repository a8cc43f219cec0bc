package render

import (
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// effective has a plain proxy and a list that is written as this text, whatever
// it is: no URL can hold what a list made by hand can.
func effective(tb testing.TB, list string) resolve.Effective {
	tb.Helper()
	u, err := proxyurl.Parse("http://proxy.example:3128")
	if err != nil {
		tb.Fatal(err)
	}
	written := noproxy.List{{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: list}}}
	return resolve.Effective{
		Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeProxied, HTTP: u, HTTPS: u,
		NoProxy: noproxy.Lists{Any: written, Go: written},
	}
}

// failer is a *testing.T, *testing.F or *rapid.T.
type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// without ends a test whose judge is not on this machine: it is skipped, but not in
// CI, where nobody would notice that nothing was judged.
func without(t *testing.T, judge string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(judge)
	}
	t.Skip(judge)
}
