package explain

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func mustParse(tb testing.TB, text string) noproxy.Entry {
	tb.Helper()
	entry, err := noproxy.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return entry
}

func TestGroupsAreTheLargestFirstWithinARoute(t *testing.T) {
	e := ask(t, "10.0.0.0/8,10.1.2.3", "10.1.2.3",
		fake("a", never), fake("b", exact), fake("c", networks), always("d", broken), fake("e", networks), fake("f", never))
	var got []string
	for _, g := range e.Groups() {
		got = append(got, strings.TrimSpace(g.Decision+" "+g.Entry+" "+g.Source.String())+": "+strings.Join(g.Clients, " "))
	}
	want := []string{"direct 10.0.0.0/8 --no-proxy[0]: c e", "direct 10.1.2.3 --no-proxy[1]: b", "proxy: a f", "fails: d"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// behaviours returns a client that goes direct from one version to another.
func behaviours(versions ...string) *dialect.Client {
	client := &dialect.Client{Name: "x"}
	for _, version := range versions {
		since, direct := strings.CutSuffix(version, "+")
		decision := dialect.Decision{Route: dialect.Proxy, Reason: "no entry matches"}
		if direct {
			decision = dialect.Decision{Route: dialect.Direct, Reason: "covered"}
		}
		client.Behaviours = append(client.Behaviours, dialect.Behaviour{Since: since, Read: func(dialect.Env) dialect.Decider {
			return func(dialect.Target) dialect.Decision { return decision }
		}})
	}
	return client
}

func TestSuccessiveBehavioursThatDecideAlikeAreOneRow(t *testing.T) {
	for _, test := range []struct {
		versions []string
		want     string
	}{
		{[]string{""}, "x"},
		{[]string{"+"}, "x"},
		{[]string{"", "2", "3"}, "x"},
		{[]string{"", "2", "3+", "4+"}, "x before 3, x from 3"},
		{[]string{"", "2+", "3"}, "x before 2, x 2 to before 3, x from 3"},
		{[]string{"", "2+", "3+", "4", "5"}, "x before 2, x 2 to before 4, x from 4"},
	} {
		var choices []dialect.Choice
		for _, choice := range behaviours(test.versions...).Choices() {
			choices = append(choices, labelled(choice))
		}
		choices = append(choices, fake("go", never))
		rows := Rows([]Explanation{ask(t, "a", "b", choices...), ask(t, "a", "c", choices...)})
		var names []string
		for _, row := range rows {
			names = append(names, row.Name)
			if len(row.Answers) != 2 {
				t.Errorf("%s has %d answers", row.Name, len(row.Answers))
			}
		}
		if got := strings.Join(names, ", "); got != test.want+", go" {
			t.Errorf("%q: %s, want %s, go", test.versions, got, test.want)
		}
	}
}

func TestTheNewestBehaviourNamesTheVersionThatItHoldsFrom(t *testing.T) {
	for _, test := range []struct {
		versions               []string
		since, earlier, wanted string
	}{
		{[]string{"", "2"}, "", "[]", "x uses the proxy: no entry matches"},
		{[]string{"", "2+"}, "2", "[before 2]", "x from 2 goes direct: covered; earlier versions of x use the proxy"},
		{[]string{"", "2+", "3+"}, "2", "[before 2]", "x from 2 goes direct: covered; earlier versions of x use the proxy"},
		{[]string{"+", "2", "3", "4+"}, "4", "[2 to before 4 before 2]", "x from 4 goes direct: covered; x 2 to before 4 uses the proxy"},
		{[]string{"", "2+", "3"}, "3", "[2 to before 3 before 2]", "x from 3 uses the proxy: no entry matches; x 2 to before 3 goes direct"},
		{[]string{"", "1.0.9+", "1.0.10"}, "1.0.10", "[1.0.9 before 1.0.9]", "x from 1.0.10 uses the proxy: no entry matches; x 1.0.9 goes direct"},
		{[]string{"", "1.1+", "1.2"}, "1.2", "[1.1 to before 1.2 before 1.1]", "x from 1.2 uses the proxy: no entry matches; x 1.1 to before 1.2 goes direct"},
	} {
		e := ask(t, "a", "b", behaviours(test.versions...).Newest())
		if a := e.Decisions[0]; a.Since != test.since || fmt.Sprint(a.Earlier) != test.earlier || e.Summary != test.wanted {
			t.Errorf("%q: %s, %s, %s", test.versions, a.Since, a.Earlier, e.Summary)
		}
		if a := ask(t, "a", "b", behaviours(test.versions...).At("1")).Decisions[0]; a.Since != "" {
			t.Errorf("%q: a version that was asked for has a border: %s", test.versions, a.Since)
		}
	}
}

func TestAllAgreeInTheirNewestVersions(t *testing.T) {
	var choices []dialect.Choice
	for _, name := range []string{"f", "g", "h", "x"} {
		client := behaviours("+", "2")
		client.Name = name
		choices = append(choices, client.Newest())
	}
	choices[0].Client.Behaviours = choices[0].Client.Behaviours[1:]
	e := ask(t, "a", "b", choices...)
	if e.Summary != "In their newest versions, all 4 clients use the proxy: no entry matches; earlier versions of g, h and x go direct" {
		t.Error(e.Summary)
	}
}

func TestBehavioursWithAnotherBetweenThemAreTwoRows(t *testing.T) {
	choices := behaviours("", "2", "3").Choices()
	e := ask(t, "a", "b", labelled(choices[0]), labelled(choices[2]))
	if got := strings.Join(e.Groups()[0].Clients, ", "); got != "x before 2, x from 3" {
		t.Error(got)
	}
}

func TestVersionsThatWereAskedForStayApart(t *testing.T) {
	client := behaviours("", "2", "3")
	e := ask(t, "a", "b", client.At("1.5"), client.At("2.1"), client.Newest())
	if got := strings.Join(e.Groups()[0].Clients, ", "); got != "x@1.5, x@2.1, x" {
		t.Error(got)
	}
	if e.Summary != "x@1.5, x@2.1 and x use the proxy: no entry matches" {
		t.Error(e.Summary)
	}
}

func TestClientsAreChosenByNameVersionAndLabel(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{
		{[]string{"go", " golang", "go@1.20", "go@1.20"}, "go, go@1.20"},
		{[]string{"grpc-go@v1.65.0", "grpc-go@1.65.0", "kubelet@v1.36.3"}, "grpc-go@1.65.0, client-go@1.36.3"},
		{[]string{"python-requests@3"}, "client python-requests has no version 3 that is known: the newest is 2.34.2;"},
		{[]string{"php-curl@7.80"}, `client php-curl: version 7.80 does not say what decides: write it as "8.2 libcurl 7.88"`},
		{[]string{"php-curl@8.2 libcurl 7.80"}, "php-curl@8.2 libcurl 7.80"},
		{[]string{"go@v"}, "client go: a version such as 1.2 follows the @"},
		{[]string{"kubernetes@35"}, `unknown client "kubernetes"; did you mean python-kubernetes?`},
		{[]string{"Helm"}, `unknown client "Helm"; did you mean client-go?`},
		{[]string{"nonsense"}, `unknown client "nonsense"; known are go`},
		{[]string{""}, "a client's name is missing"},
		{[]string{"@1"}, "a client's name is missing"},
		{[]string{"go@"}, "client go: a version such as 1.2 follows the @"},
		{[]string{"go@before 2"}, "client go: a version such as 1.2 follows the @"},
	} {
		choices, err := Choose(test.names)
		var names []string
		for _, choice := range choices {
			names = append(names, name(choice))
		}
		got := strings.Join(names, ", ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: %s, want %s", test.names, got, test.want)
		}
	}
}

func answersOf(choices []dialect.Choice) []Answer {
	var answers []Answer
	for _, choice := range choices {
		answers = append(answers, Answer{choice: choice})
	}
	return answers
}

func TestEveryBehaviourHasANameByWhichItIsChosen(t *testing.T) {
	choices, err := Choose([]string{"all"})
	if err != nil || len(choices) != len(dialect.All()) {
		t.Fatal(len(choices), err)
	}
	seen := map[string]bool{}
	for _, choice := range choices {
		if seen[name(choice)] {
			t.Errorf("%s is there twice", name(choice))
		}
		seen[name(choice)] = true
		again, err := Choose([]string{name(choice)})
		if err != nil || len(again) != 1 || again[0].Client.Name != choice.Client.Name || again[0].Since != choice.Since {
			t.Errorf("%s is not chosen by this name: %v", name(choice), err)
		}
	}
	if several, err := Choose([]string{"curl before 7.86"}); err != nil || len(several) < 2 || strings.Join(names(answersOf(several)), "") != "curl before 7.86" {
		t.Errorf("several behaviours are not chosen by the name of all of them: %v, %v", several, err)
	}
	if newest, err := Choose(nil); err != nil || len(newest) != len(dialect.Clients()) {
		t.Error(len(newest), err)
	}
}

func TestAnEntryIsTracedToWhereItWasWritten(t *testing.T) {
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: "values.yaml", Field: "proxy.noProxy[2]"}
	list := Rendered(noproxy.List{
		{Entry: mustParse(t, "10.0.0.0/8"), Sources: []noproxy.Source{{Layer: noproxy.LayerBuiltin}}},
		{Entry: mustParse(t, "example.com"), Sources: []noproxy.Source{source}},
	})
	for _, test := range []struct {
		variable string
		offset   int
		entry    string
		want     string
	}{
		{"NO_PROXY", 0, "10.0.0.0/8", "Builtin"},
		{"no_proxy", 11, "example.com", "Installation values.yaml proxy.noProxy[2]"},
		{"no_proxy", 15, "ple.com", "Installation values.yaml proxy.noProxy[2]"},
		{"no_proxy", 10, ",", ""},
		{"no_proxy", 99, "", ""},
		{"http.nonProxyHosts", 0, "10.*", "Builtin"},
		{"http.nonProxyHosts", 5, "*.example.com", "Installation values.yaml proxy.noProxy[2]"},
		{"http.nonProxyHosts", 5, "127.*", ""},
	} {
		if got := list.origin(test.variable, test.offset, test.entry).Source.String(); got != test.want {
			t.Errorf("%s at %d: %q, want %q", test.variable, test.offset, got, test.want)
		}
	}
	if got := Written("a,, b", "--no-proxy").origin("NO_PROXY", 4, "b").Source.String(); got != "--no-proxy[2]" {
		t.Error(got)
	}
}

func TestNoCredentialComesOut(t *testing.T) {
	list := "http://me:S3CRET@proxy.example:3128,x"
	c := Configuration{HTTP: "http://me:S3#CRET@p:1", HTTPS: "http://me:123#CRET@p:1", List: Written(list, "--no-proxy")}
	direct := always("direct", dialect.Decision{Route: dialect.Direct, Variable: "NO_PROXY", Reason: "x", Entry: dialect.Span{Start: 0, End: 35}})
	choices, err := Choose(nil)
	if err != nil {
		t.Fatal(err)
	}
	explanations := Evaluate(c, append(choices, direct), []dialect.Target{target(t, "a.example"), target(t, "http://proxy.example:3128")})
	text, err := json.Marshal(explanations)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"S3", "CRET", "123#", "me:"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	if len(c.List.Entries()) != 0 {
		t.Error("shows a list with a proxy's URL in it")
	}
}

// Commas cut the password into entries; clients go direct, and fail, because of them.
func TestNoPartOfAPasswordIsShownAsAnEntry(t *testing.T) {
	choices, err := Choose([]string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"http://me:S3,CR$T,CR:ET,x@proxy.example:3128", "http://me:S3,CR$T,CR:ET,x", "a.example\nhttp://me:S3,CR$T,CR:ET,x@p"} {
		c := Configuration{HTTP: "http://p:1", HTTPS: "http://p:1", List: Written(list, "--no-proxy")}
		explanations := Evaluate(c, choices, []dialect.Target{target(t, "x.cr$t"), target(t, "a.example"), target(t, "http://x")})
		text, err := json.Marshal(explanations)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range explanations {
			for _, group := range e.Groups() {
				text = append(text, group.Entry...)
			}
		}
		for _, secret := range []string{"S3", "CR:ET", "CR$T,"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: %q is shown", list, secret)
			}
		}
		if !strings.Contains(string(text), noproxy.Hidden) {
			t.Errorf("%s: no entry decides", list)
		}
		if len(c.List.Entries()) != 0 {
			t.Error("shows a list with a proxy's URL in it")
		}
	}
}

func TestALongListIsExplainedQuickly(t *testing.T) {
	list := strings.Repeat("h.example,", 10_000) + "10.0.0.0/8"
	choices, err := Choose(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := ask(t, list, "10.1.2.3", choices...)
	for _, a := range e.Decisions {
		if a.Client == "go" && (a.Decision != "direct" || a.Source.String() != "--no-proxy[10000]") {
			t.Errorf("%+v", a)
		}
	}
}
