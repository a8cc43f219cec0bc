package lint_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/dialect/vector"
)

func TestClientsThatReadAnEntryOtherwiseAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		list     string
		code     lint.Code
		severity lint.Severity
		among    []string // of the clients
		without  []string
	}{
		"networks":            {"10.0.0.0/8", lint.NetworkMembers, lint.Info, []string{"wget", "apt", "python-urllib", "curl before 7.86"}, []string{"go", "curl", "python-requests"}},
		"IPv6 networks":       {"fd00::/64", lint.IPv6Network, lint.Warning, []string{"wget", "python-urllib"}, []string{"go", "python-httpx"}},
		"what breaks httpx":   {"fd00::/64,example.com", lint.Breaks, lint.Error, []string{"python-httpx from 0.24.0"}, []string{"go", "curl"}},
		"brackets":            {"[::1]", lint.Breaks, lint.Error, nil, []string{"go"}},
		"IPv6 addresses":      {"fd00::1", lint.IPv6Address, lint.Info, []string{"python-urllib"}, []string{"go", "curl"}},
		"ports":               {"example.com:8080", lint.Port, lint.Warning, []string{"curl", "git", "wget", "apt"}, []string{"go", "ruby-net-http"}},
		"the wildcard":        {"*", lint.Wildcard, lint.Warning, []string{"wget", "apt", "ruby-net-http"}, []string{"go", "curl", "python-urllib"}},
		"a domain alone":      {"example.com", lint.Unmatched, lint.Warning, []string{"axios", "proxy-from-env", "dotnet"}, []string{"go", "curl", "wget"}},
		"a leading dot":       {".example.com", lint.Apex, lint.Info, []string{"curl", "python-urllib"}, []string{"go", "wget"}},
		"ends of names":       {"example.com", lint.OverMatch, lint.Info, []string{"apt", "grpc-core", "python-requests before 2.34.0"}, []string{"go", "curl", "python-requests"}},
		"ends of addresses":   {"10.1.2.3", lint.OverMatch, lint.Info, []string{"apt", "perl-http-tiny"}, []string{"go", "curl"}},
		"names with a dot":    {"example.com", lint.FinalDot, lint.Info, []string{"go", "wget"}, []string{"curl"}},
		"a macro of libproxy": {"<local>", lint.Unreadable, lint.Error, []string{"wget2-libproxy"}, []string{"go", "curl"}},
		"what nobody reads":   {"10.1.*", lint.Unreadable, lint.Error, nil, []string{"go", "java"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(lint.Run(readList(test.list)), func(f lint.Finding) bool { return f.Code == test.code })
			if at < 0 {
				t.Fatalf("only %q", summaries(lint.Run(readList(test.list))))
			}
			f := lint.Run(readList(test.list))[at]
			if f.Severity != test.severity {
				t.Errorf("severity %s", f.Severity)
			}
			for _, client := range test.among {
				if !slices.Contains(f.Clients, client) {
					t.Errorf("%s is not among %q", client, f.Clients)
				}
			}
			for _, client := range test.without {
				if slices.Contains(f.Clients, client) {
					t.Errorf("%s is among %q", client, f.Clients)
				}
			}
		})
	}
}

// excuse returns the finding that names why clients may disagree about a URL of the
// published example.
func excuse(url string) lint.Code {
	target, err := dialect.ParseTarget(url)
	if err != nil {
		return ""
	}
	addr, _ := netip.ParseAddr(target.Host)
	switch {
	case addr.Is6():
		return lint.IPv6Address
	case addr.IsValid():
		return lint.NetworkMembers
	case strings.HasSuffix(target.Host, "."):
		return lint.FinalDot
	}
	return lint.OverMatch
}

// The list that the operator writes is the one that was measured: this fails
// when the form changes, until "make vectors" has asked the real clients again.
func TestRealClientsAgreeOnThePortableExampleButForWhatLintNames(t *testing.T) {
	e := effective(t, "172.16.0.0/16,internal.corpdomain.net,example.com", resolve.FormPortable)
	list := e.NoProxy.Any.String()
	answers := map[string]map[string][]string{} // by URL and answer: clients
	clients := map[string]bool{}
	for _, row := range table(t) {
		if row.NoProxy == nil || *row.NoProxy != list || row.Source != "measured" {
			continue
		}
		if answers[row.URL] == nil {
			answers[row.URL] = map[string][]string{}
		}
		if !readsNames(t, row) {
			continue
		}
		name := row.Client + "@" + row.Version
		clients[name] = true
		answers[row.URL][row.Expect] = append(answers[row.URL][row.Expect], name)
	}
	if len(clients) < 20 || len(answers) < 30 {
		t.Fatalf("%d clients were asked about %d URLs with %s", len(clients), len(answers), list)
	}
	findings := lint.Run(lint.Effective(e, cluster))
	for url, by := range answers {
		if len(by["fails"]) > 0 {
			t.Errorf("%s fails for %q", url, by["fails"])
		}
		if len(by) == 1 {
			continue
		}
		code := excuse(url)
		if !slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Code == code }) {
			t.Errorf("%s: %q, and lint does not find %s", url, by, code)
		}
		t.Logf("%s: %s: %d direct, %d proxy", code, url, len(by["direct"]), len(by["proxy"]))
	}
	for _, url := range unanimous {
		if len(answers[url]) != 1 {
			t.Errorf("%s: %q", url, answers[url])
		}
	}
}

// What reads no list, or asks about addresses alone, is no entry's fault.
func TestClientsThatReadNoNamesAreNotNamed(t *testing.T) {
	e := effective(t, "172.16.0.0/16,example.com", resolve.FormExact)
	for _, f := range lint.Run(lint.Effective(e, cluster)) {
		for _, client := range f.Clients {
			if strings.HasPrefix(client, "grpc-go 1.63") || strings.HasPrefix(client, "python-kubernetes 34") {
				t.Errorf("%s names %s", f.Code, client)
			}
		}
	}
}

// unanimous are the URLs that the form exists for.
var unanimous = []string{
	"https://kubernetes.default.svc/", "https://kubernetes.default.svc./", "https://foo.ns.svc.cluster.local/",
	"http://source-controller.flux-system.svc.cluster.local./a.tar.gz", "https://100.64.0.1/", "http://100.64.0.10/",
	"https://178.170.32.59:6443/", "http://example.com/", "https://sub.example.com/", "http://a.b.example.com:8080/",
	"https://internal.corpdomain.net/", "http://corpdomain.net/", "http://10.1.2.3/", "http://my-svc/", "http://a.notsvc/",
	"http://localhost/", "http://foo.localhost/", "http://127.0.0.1/",
}

// readsNames reports whether the client goes direct because of a name in the list: lint asks no other.
func readsNames(t *testing.T, row vector.Row) bool {
	t.Helper()
	list := "a.example"
	got, _, err := vector.Row{Client: row.Client, Version: row.Version, NoProxy: &list, URL: "http://a.example/", Expect: "direct"}.Got()
	_, proxied, proxiedErr := vector.Row{Client: row.Client, Version: row.Version, NoProxy: &list, URL: "http://b.example/", Expect: "direct"}.Got()
	if err != nil || proxiedErr != nil {
		t.Fatal(err, proxiedErr)
	}
	return got == "direct" && proxied.Route == dialect.Proxy
}

func table(t *testing.T) []vector.Row {
	t.Helper()
	files, err := filepath.Glob("../../../noproxy/dialect/vector/table/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no table", err)
	}
	var all []vector.Row
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := vector.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// Each entry that a form omits costs the same, however many there are: lint runs in reconciles.
func TestOmittedEntriesAreNotCompared(t *testing.T) {
	allocations := func(n int) float64 {
		var list strings.Builder
		for i := range n {
			fmt.Fprintf(&list, "fd00:%x::/48,", i)
		}
		in := lint.Effective(effective(t, list.String()+"example.com", resolve.FormPortable), cluster)
		if in.Today = true; len(in.Omitted) != n {
			t.Fatalf("%d of %d are omitted", len(in.Omitted), n)
		}
		return testing.AllocsPerRun(1, func() { lint.Run(in) })
	}
	few, many, more := allocations(100), allocations(1_100), allocations(2_100)
	if perThousand := many - few; more-many > 1.2*perThousand {
		t.Errorf("%.0f allocations for the first thousand, %.0f for the second", perThousand, more-many)
	}
}

func BenchmarkLint(b *testing.B) {
	for name, today := range map[string]bool{"every behaviour": false, "today's": true} {
		b.Run(name, func(b *testing.B) { benchmarkLint(b, today) })
	}
}

func benchmarkLint(b *testing.B, today bool) {
	b.Helper()
	in := lint.Effective(effective(b, "172.16.0.0/16,internal.corpdomain.net,example.com", resolve.FormPortable), cluster)
	in.Today = today
	b.ReportAllocs()
	for b.Loop() {
		lint.Run(in)
	}
}
