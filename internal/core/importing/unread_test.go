package importing_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/importing"
)

const (
	topology  = "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: %s}, spec: {topology: {class: x, version: v1.30.0, %s}}}\n---\n"
	carenAt   = "{name: clusterConfig, value: {proxy: {http: 'http://%s.example:1'}}}"
	tkgAt     = "{name: proxy, value: {httpProxy: 'http://a.example:1'}}"
	otherwise = ": not recognised: has a proxy that was not read: in a variable of another format, or in an override for some machines\n"
)

func inTopology(name, what string) string { return fmt.Sprintf(topology, name, what) }

// Who was told that a Cluster has no proxy would cut it off.
func TestAClusterIsSaidToHaveNoProxyOnlyWhereItHasNone(t *testing.T) {
	base, second := fmt.Sprintf(carenAt, "a"), fmt.Sprintf(carenAt, "b")
	all := inTopology("base", "variables: ["+base+"]") +
		inTopology("over", "controlPlane: {variables: {overrides: ["+base+"]}}") +
		inTopology("tkg", "variables: ["+tkgAt+"]") +
		inTopology("pools", "workers: {machinePools: [{class: d, name: p, variables: {overrides: ["+tkgAt+"]}}]}") +
		inTopology("none", "variables: [{name: clusterConfig, value: {}}]")
	const none = "x:9: Cluster none: not supported: has no proxy there: set spec.clusterSelector of the CorporateProxy, or mode: Direct in a ProxyOverride\n"
	for name, test := range map[string]struct{ from, text, want string }{
		"caren": {"caren", all, "x:1: clusterConfig.proxy.http: understood\nx:3: Cluster over" + otherwise + "x:5: Cluster tkg" + otherwise + "x:7: Cluster pools" + otherwise + none},
		"tkg":   {"tkg", all, "x:1: Cluster base" + otherwise + "x:3: Cluster over" + otherwise + "x:5: proxy.httpProxy: understood\nx:7: Cluster pools" + otherwise + none},
		"a variable twice": {
			"", inTopology("base", "variables: ["+base+", "+second+"]"),
			"x:1: clusterConfig.proxy: not recognised: another variable of this name, which was not read\nx:1: clusterConfig.proxy.http: understood\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := importing.Read("x", []byte(test.text), test.from)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, reported(join(t, settings))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingIsLostWithoutALine(t *testing.T) {
	const (
		az     = "az connectedk8s connect --proxy-http http://a.example:1 "
		http   = "x:1: --proxy-http: understood\n"
		behind = "x:1: --proxy-skip-range: not recognised: a word behind its value, which belongs to no option: are quotes missing?\n"
		unread = ": not recognised: another document, which was not read\n"
	)
	for name, test := range map[string]struct{ text, want string }{
		"another dash":          {az + "–proxy-https http://me:S3CRET@a.example:1 -g x", http + "x:1: –proxy-https: not recognised\n"},
		"one dash":              {az + "--proxy-x -proxy-skip-range b.example", http + "x:1: --proxy-x: not recognised\nx:1: -proxy-skip-range: not recognised\n"},
		"another case":          {az + "--Proxy-Skip-Range=b.example", http + "x:1: --Proxy-Skip-Range: not recognised\n"},
		"an underscore":         {az + "--proxy_https:http://me:S3CRET@a.example:1", http + "x:1: --proxy-: not recognised\n"},
		"a blank":               {az + "--proxy-skip-range 10.0.0.0/8, S3CRET.example \\\n  S3CRET", http + behind + behind + "x:1: --proxy-skip-range[0]: understood: 10.0.0.0/8\n"},
		"other commands":        {az + "2>&1 | tee x; y\nz\n" + az + "-g x; " + az + "`\n --name y && z", http + "x:3: --proxy-http: understood\nx:3: --proxy-http: understood\n"},
		"a key without a value": {"proxy:\n  http: http://a.example:1\n  newKey: null\n  other:\n", "x:2: proxy.http: understood\nx:3: proxy.newKey: not recognised\nx:4: proxy.other: not recognised\n"},
		"a null in JSON":        {`{"proxy": {"http": "http://a.example:1", "newKey": null}}`, "x:1: proxy.http: understood\nx:1: proxy.newKey: not recognised\n"},
		"a piece of a password": {
			"cluster: {proxy: {https: http://a.example:1, http: 'http://a.example:1', S3CRET}}",
			"x:1: cluster.proxy.https: understood\nx:1: cluster.proxy.http: understood\nx:1: cluster.proxy: not recognised: a key that is not shown, since it may be a piece of a password: are quotes missing?\n",
		},
		"a merge key": {
			"x: &x {noProxy: b}\nproxy:\n  <<: *x\n  http: http://a.example:1\n",
			"x:3: proxy.<<: not supported: merge keys are not read: write the keys themselves here\nx:4: proxy.http: understood\n",
		},
		"a title with a URL": {
			"{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://a.example:1'}}\n---\n{kind: s3cret, metadata: {name: a}}\n---\n{kind: Other, metadata: {name: 'http://me:S3CRET@p'}}\n---\n{kind: Secret, metadata: {name: a.b}}\n",
			"x:1: spec.httpProxy: understood\nx:3" + unread + "x:5" + unread + "x:7: Secret a.b" + unread,
		},
		"nothing in use": {
			"{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://a.example:1'}, status: {httpProxy: null}}",
			"x:1: spec.httpProxy: understood\nx:1: status.httpProxy: understood: empty: none is in use\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, reported(join(t, read(t, "x", test.text)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The API refuses longer lists, whatever else is right in them.
func TestListsAreAsLongAsTheAPITakes(t *testing.T) {
	most := func(kind string) int {
		text, err := os.ReadFile("../../../config/crd/fairlead.io_" + kind + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\n              noProxy:\n")
		_, rest, _ = strings.Cut(rest, "\n                maxItems: ")
		var most int
		if _, err := fmt.Sscan(rest, &most); err != nil {
			t.Fatal(err)
		}
		return most
	}
	names := func(n int) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, "h%d.example,", i)
		}
		return all.String()
	}
	forAll, forOne := most("corporateproxies"), most("proxyoverrides")
	variables := func(n int) string { return "HTTP_PROXY=http://a.example:1\nNO_PROXY=" + names(n) }
	clusters := func(n int) string {
		return eksa("a", "http://a.example:1", names(n)) + eksa("b", "http://a.example:1", "")
	}
	for text, want := range map[string]string{
		variables(forAll):     "",
		variables(forAll + 1): fmt.Sprintf("the CorporateProxy: spec.noProxy has %d entries: the API takes %d at most", forAll+1, forAll),
		clusters(forOne):      "",
		clusters(forOne + 1):  fmt.Sprintf("ProxyOverride eksa-system/a: spec.noProxy has %d entries: the API takes %d at most", forOne+1, forOne),
	} {
		got := ""
		if _, err := importing.Join(read(t, "x", text), nil); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}

// Each took from 15 seconds to minutes, where every document, or variable, looked at every other.
func BenchmarkLongFiles(b *testing.B) {
	long := func(n int, text func(int) string) string {
		var all strings.Builder
		for i := range n {
			all.WriteString(text(i))
		}
		return all.String()
	}
	for name, text := range map[string]string{
		"EKS Anywhere": long(500, func(i int) string {
			return eksa(fmt.Sprint("c", i), "http://a.example:1", "b") + "{apiVersion: anywhere.eks.amazonaws.com/v1alpha1, kind: VSphereDatacenterConfig, spec: {server: s}}\n---\n"
		}),
		"CAREN": long(400, func(i int) string {
			return inTopology(fmt.Sprint("c", i), "variables: ["+fmt.Sprintf(carenAt, "a")+"]")
		}),
		"variables": "HTTP_PROXY=http://a.example:1\n" + long(60000, func(i int) string { return fmt.Sprintf("V%d=x\n", i) }),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := importing.Read("x", []byte(text), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
