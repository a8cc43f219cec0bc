package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// patterns are the patterns of fairlead-policies, compiled.
type patterns struct {
	values        field
	known         keys
	proxySettings *regexp.Regexp
	nearMisses    map[string]*regexp.Regexp
}

func policyPatterns(t *testing.T) patterns {
	t.Helper()
	text, err := os.ReadFile("../fairlead-policies/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := patterns{nearMisses: map[string]*regexp.Regexp{}}
	if p.values, err = readValues(text); err != nil {
		t.Fatal(err)
	}
	made, err := keysOf(p.values)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(made, &p.known); err != nil {
		t.Fatal(err)
	}
	p.proxySettings = regexp.MustCompile(p.known.ProxySettings)
	for key, pattern := range p.known.NearMisses {
		p.nearMisses[key] = regexp.MustCompile(pattern)
	}
	return p
}

// meant returns the keys that something was probably meant to be.
func (p patterns) meant(given string) []string {
	var found []string
	for key, nearMisses := range p.nearMisses {
		if nearMisses.MatchString(given) && key != given {
			found = append(found, key)
		}
	}
	return found
}

func TestNoKeyOfTheChartOrOfAPlatformIsANearMiss(t *testing.T) {
	p := policyPatterns(t)
	for _, f := range p.values.fields {
		if meant := p.meant(f.key()); meant != nil {
			t.Errorf("%s is nearly %v", f.key(), meant)
		}
		if notRead := slices.Contains(p.known.NotRead, f.key()); notRead == (p.nearMisses[f.key()] != nil) {
			t.Errorf("%s is read, or not, or both", f.key())
		}
	}
	text, err := os.ReadFile("../fairlead-policies/ci/cluster-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var platform map[string]any
	if err := yaml.Unmarshal(text, &platform); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"enabled", "mode", "code", "nodes", "relays", "probes", "audits", "include", "resource", "azureSubscriptionID"} {
		platform[key] = nil
	}
	for key := range platform {
		if meant := p.meant(key); meant != nil {
			t.Errorf("%s is nearly %v", key, meant)
		}
		if p.proxySettings.MatchString(key) && !slices.Contains(p.known.NotRead, key) {
			t.Errorf("%s is a setting", key)
		}
	}
	for _, key := range []string{"calico", "kubernetes", "private", "httpEndpoint", "proxyProtocol", "probes"} {
		if p.proxySettings.MatchString("cluster." + key) {
			t.Errorf("cluster.%s is a setting", key)
		}
	}
}

func TestANearMissIsOfTheKeyThatWasMeant(t *testing.T) {
	p := policyPatterns(t)
	for given, want := range map[string]string{
		"failure-policy": "failurePolicy", "failurepolicy": "failurePolicy", "Failure_Policy": "failurePolicy", "failurePolcy": "failurePolicy",
		"egine": "engine", "engines": "engine", "enginr": "engine", "negine": "engine", "xeclude": "exclude", "tunnel": "tunnels", "replicater": "replicator",
		"optin": "optIn", "opt-in": "optIn", "potIn": "optIn", "ndoe": "node", "relya": "relay", "Cluster": "cluster", "clsuter": "cluster",
		"trustedCa": "trustedCA", "trusted-ca": "trustedCA", "managementCluser": "managementCluster", "sources": "source",
	} {
		if meant := p.meant(given); len(meant) != 1 || meant[0] != want {
			t.Errorf("%s is nearly %v, not %s", given, meant, want)
		}
	}
}

func TestValuesThatAreClosedNeedNoKeys(t *testing.T) {
	values, err := readValues([]byte("# -- A\na: 1"))
	if err != nil {
		t.Fatal(err)
	}
	if made, err := keysOf(values); made != nil || err != nil {
		t.Errorf("%s, %v", made, err)
	}
}
