package charts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/fairlead-io/fairlead/e2e/policies"
)

const credentialsAnnotation = "fairlead.io/credentials"

// fingerprints are values as the operator writes them, of a proxy with credentials.
func fingerprints(current, previous string, more values) values {
	given := values{"cluster": values{
		"proxy":  proxy(url, otherURL, "a"),
		"probes": values{"credentials": values{"current": current, "previous": previous}},
	}}
	maps.Copy(given, more)
	return given
}

// says returns the annotation of fairlead-proxy, keys of fairlead-source, and whether the replicator counts.
func says(t *testing.T, objects rendered) string {
	t.Helper()
	var all []string
	if secret := objects["Secret/"+policies.Secret]; secret != nil {
		all = append(all, secret.GetAnnotations()[credentialsAnnotation])
	}
	if objects["Secret/"+source] != nil {
		data := objects.data(t, "Secret/"+source)
		all = append(all, data["FINGERPRINT"]+"/"+data["FINGERPRINT_PREVIOUS"])
	}
	if name := "Deployment/fairlead-replicator"; objects[name] != nil && strings.Contains(objects.text(t, name), "--count-credentials") {
		all = append(all, "counts")
	}
	if name := "ValidatingAdmissionPolicy/fairlead-replicator-secrets"; objects[name] != nil && strings.Contains(objects.text(t, name), credentialsAnnotation) {
		all = append(all, "may write it")
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" || s == "/" }), ", ")
}

func TestSecretsCarryTheFingerprintsThatComeWithTheSettings(t *testing.T) {
	const now, before = "key+/=.b", "key+/=.a"
	for name, row := range map[string]struct {
		given values
		want  string
	}{
		"nobody counts":          {fingerprints("", "", nil), ""},
		"nobody counts, Relay":   {fingerprints("", "", values{"carry": "Relay"}), ""},
		"SecretRef":              {fingerprints(now, before, nil), now + ", counts, may write it"},
		"SecretRef and relays":   {fingerprints(now, before, values{"relay": values{"enabled": true}}), now + ", " + now + "/" + before + ", counts, may write it"},
		"Relay":                  {fingerprints(now, before, values{"carry": "Relay"}), now + "/" + before},
		"others of this release": {fingerprints(now, before, values{"proxy": proxy(url, url, "a")}), ""},
		"no credentials now":     {values{"cluster": values{"proxy": proxy("http://proxy.example:3128", "", "a"), "probes": values{"credentials": values{"previous": before}}}}, "none, counts, may write it"},
	} {
		if got := says(t, render(t, row.given)); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// What the probe has seen is of a revision only where it stands beside the settings that were tried.
func TestTheSettingsThatAreProbedSayWhichRevisionTheyAre(t *testing.T) {
	of := func(name string, more values) string {
		given := fingerprints("key.b", "", more)
		given["cluster"].(values)["probes"].(values)["revision"] = "corp/7/0123"
		objects := render(t, given)
		if objects["Secret/"+name] == nil {
			return "no Secret"
		}
		return objects.data(t, "Secret/"+name)["REVISION"]
	}
	enabled := values{"enabled": true}
	for name, row := range map[string]struct {
		secret string
		more   values
		want   string
	}{
		"Relay":                  {source, values{"carry": "Relay"}, "corp/7/0123"},
		"SecretRef":              {probeName, values{"probe": enabled}, "corp/7/0123"},
		"pods":                   {policies.Secret, nil, ""},
		"others of this release": {source, values{"carry": "Relay", "proxy": proxy(url, url, "a")}, ""},
	} {
		if got := of(row.secret, row.more); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// Copies of an earlier carry are nobody's to count. The probe sees when their Secret is gone, and none of its URLs.
func TestTheProbeLooksForCopiesOfAnEarlierCarry(t *testing.T) {
	for carry, want := range map[string]bool{"SecretRef": false, "Relay": true, "Literal": true} {
		objects := render(t, fingerprints("key.b", "", values{"carry": carry, "probe": values{"enabled": true}}))
		text := objects.text(t, "Deployment/"+probeName)
		for _, part := range []string{"--copies-left=/run/fairlead-copies/no_proxy", "mountPath: /run/fairlead-copies", "- key: no_proxy", "optional: true"} {
			if strings.Contains(text, part) != want && (want || part != "optional: true") {
				t.Errorf("%s: %q: %v", carry, part, !want)
			}
		}
	}
}

// It keeps what it knows of thousands of relays within its limit.
func TestTheProbeHeedsItsMemoryLimit(t *testing.T) {
	for limit, want := range map[string]int{"192Mi": 1, "": 0} {
		resources := values{"limits": nil}
		if limit != "" {
			resources["limits"] = values{"memory": limit}
		}
		objects := render(t, values{"probe": values{"enabled": true, "resources": resources}})
		env := as[appsv1.Deployment](t, objects, "Deployment/"+probeName).Spec.Template.Spec.Containers[0].Env
		if len(env) != want || want > 0 && env[0].Name != "GOMEMLIMIT" {
			t.Errorf("limit %q: %v", limit, env)
		}
	}
}
