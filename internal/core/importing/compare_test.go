package importing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/importing"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

var compared = resolve.Cluster{
	Namespace: "org", Name: "c", ServiceDomain: "cluster.local", ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"}, EndpointHost: "178.170.32.59",
}

// fairlead returns what Fairlead writes for the cluster with these entries.
func fairlead(t *testing.T, list string) resolve.Effective {
	t.Helper()
	u, err := proxyurl.Parse("http://p.example:1")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := noproxy.ParseList(list, noproxy.Source{Object: "CorporateProxy default"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := resolve.Resolve(resolve.Input{Installation: resolve.Installation{HTTP: u, HTTPS: u, NoProxy: entries}, Cluster: compared})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// variables returns a file with all six.
func variables(list string) string {
	var text strings.Builder
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		text.WriteString(name + "=http://me:S3CRET@p.example:1\n")
	}
	return text.String() + "NO_PROXY=" + list + "\nno_proxy=" + list + "\n"
}

// find returns the row of a client and a URL, in the list of pods.
func find(t *testing.T, c importing.Comparison, client, url string) importing.Row {
	t.Helper()
	for _, r := range c.Rows {
		if r.Audience == "any" && r.URL == url && slices.Contains(r.Clients, client) {
			return r
		}
	}
	t.Fatalf("%s was not asked about %s", client, url)
	return importing.Row{}
}

func TestTheSameListIsTheSame(t *testing.T) {
	e := fairlead(t, "corp.example")
	s := read(t, "x.env", variables(e.NoProxy.Any.String()))[0]
	e.NoProxy.Go = e.NoProxy.Any
	c := importing.Compare(s, compared, e)
	if !c.Same || c.Alike != c.Decisions || c.Decisions != c.URLs*(c.Clients+1) || c.Clients < 20 || c.URLs < 10 {
		t.Errorf("same: %v, %d of %d decisions, %d clients, %d URLs", c.Same, c.Alike, c.Decisions, c.Clients, c.URLs)
	}
	asked := 0
	for _, r := range c.Rows {
		asked += len(r.Clients)
		if !r.Same || r.Why != "" || strings.Contains(r.Before.Decision, "S3CRET") {
			t.Errorf("%+v", r)
		}
	}
	if asked != c.Decisions {
		t.Errorf("%d decisions in rows, not %d", asked, c.Decisions)
	}
}

func TestEveryDifferenceIsExplained(t *testing.T) {
	full := "localhost,127.0.0.1,.svc,.cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59"
	upper := "HTTP_PROXY=http://p.example:1\nHTTPS_PROXY=http://p.example:1\nNO_PROXY=" + full + "\n"
	for name, test := range map[string]struct{ text, client, url, before, after, why string }{
		"Fairlead adds":              {variables("localhost"), "go", "https://178.170.32.59/", "proxy p.example:1", "direct", "Fairlead's list has 178.170.32.59 (ControlPlaneEndpoint Cluster org/c spec.controlPlaneEndpoint.host)"},
		"Fairlead lacks":             {variables(full + ",gone.example"), "go", "https://gone.example/", "direct", "proxy p.example:1", "Fairlead's list has nothing for gone.example (x.env:5: NO_PROXY[7]) that these clients read"},
		"lower case is missing":      {upper, "curl", "http://example.com/", "direct", "proxy p.example:1", "a file of environment variables sets HTTP_PROXY, HTTPS_PROXY, NO_PROXY alone, which is not what these clients read"},
		"the list is missing":        {upper, "perl-http-tiny", "https://localhost/", "proxy p.example:1", "direct", "a file of environment variables sets HTTP_PROXY, HTTPS_PROXY, NO_PROXY alone, which is not what these clients read"},
		"one URL alone":              {"HTTPS_PROXY=http://p.example:1\nhttps_proxy=http://p.example:1\n", "go", "http://example.com/", "direct", "proxy p.example:1", "before: "},
		"another list in lower case": {strings.Replace(variables(full), "no_proxy="+full, "no_proxy="+full+",low.example", 1), "curl", "https://low.example/", "direct", "proxy p.example:1", "Fairlead's list has nothing for low.example (x.env:6: no_proxy[7]) that these clients read"},
		"not for other clients":      {strings.Replace(variables(full), "no_proxy="+full, "no_proxy="+full+",low.example", 1), "go", "https://low.example/", "proxy p.example:1", "proxy p.example:1", ""},
		"an empty variable":          {upper + "http_proxy=\nhttps_proxy=\n", "python-urllib", "https://example.com/", "direct", "proxy p.example:1", "a file of environment variables sets HTTP_PROXY, HTTPS_PROXY, NO_PROXY alone, which is not what these clients read"},
		"RKE2 adds to its list":      {"HTTPS_PROXY=http://p.example:1\nNO_PROXY=a.example\nCONTAINERD_NO_PROXY=a.example,c.example\n", "go", "https://100.64.0.20/", "direct", "direct", ""},
		"RKE2 makes one list":        {"HTTPS_PROXY=http://p.example:1\nNO_PROXY=a.example\nno_proxy=b.example\nCONTAINERD_HTTPS_PROXY=http://p.example:1\n", "go", "https://b.example/", "direct", "proxy p.example:1", "Fairlead's list has nothing for b.example (x.env:3: no_proxy[0]) that these clients read"},
		"another address":            {strings.ReplaceAll(variables(full), "p.example:1", "q.example:2"), "go", "https://example.com/", "proxy q.example:2", "proxy p.example:1", "before: "},
		"what is no entry to us":     {variables("10.0.0.1-10.0.0.9"), "node-http", "https://10.0.0.1/", "direct", "proxy p.example:1", "Fairlead's list has nothing for 10.0.0.1-10.0.0.9 (x.env:6: no_proxy[0])"},
		"where neither has a say":    {variables(full), "curl", "https://example.com/", "proxy p.example:1", "proxy p.example:1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, "x.env", test.text)[0]
			c := importing.Compare(s, compared, fairlead(t, ""))
			r := find(t, c, test.client, test.url)
			if r.Before.Decision != test.before || r.After.Decision != test.after || !strings.HasPrefix(r.Why, test.why) || r.Same != (test.why == "") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What the system says that its list is counts more than what it is known to add.
func TestTheListThatASystemReportsIsCompared(t *testing.T) {
	object := func(status string) string {
		return "apiVersion: config.openshift.io/v1\nkind: Proxy\nspec: {httpProxy: 'http://p.example:1', httpsProxy: 'http://p.example:1', noProxy: a.example}\n" + status
	}
	for status, want := range map[string]string{"": "direct", "status: {noProxy: 'a.example'}\n": "proxy p.example:1"} {
		c := importing.Compare(read(t, "x.yaml", object(status))[0], compared, fairlead(t, "a.example"))
		if got := find(t, c, "go", "https://host.svc/").Before.Decision; got != want {
			t.Errorf("with %q: %s, want %s", status, got, want)
		}
	}
}

// cluster-apps-operator gives machines the list as it is configured.
func TestMachinesHaveTheListThatTheyHad(t *testing.T) {
	c := importing.Compare(read(t, "x.yaml", "proxy: {http: 'http://p.example:1', https: 'http://p.example:1', noProxy: a.example}")[0], compared, fairlead(t, "a.example"))
	for _, r := range c.Rows {
		if r.URL == "https://178.170.32.59/" && slices.Contains(r.Clients, "go") && r.Same == (r.Audience == "go") {
			t.Errorf("%+v", r)
		}
	}
}
