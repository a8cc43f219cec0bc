package operator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// The passwords, raw, that this test takes through everything that can happen.
const (
	plantedInURL = "pl4nted-In_Url"
	plantedRaw   = "pl4nted %&\"'{{ $raw@"
	plantedOld   = "pl4nted-Of_Before"
)

// canary is planted where a leak would be, to prove that the search finds.
const canary = "c4nary-0f-the-search"

func TestNoPasswordIsFoundWhereItNeedNotBe(t *testing.T) {
	f := newOwnFixture(t, "--log-level=trace", "--reapply-interval=2s")
	keyLines := f.liveThrough()

	haystacks := f.everywhere()
	for name, text := range haystacks {
		if strings.TrimSpace(text) == "" {
			t.Errorf("%s is empty, so nothing was searched", name)
		}
		for _, needle := range slices.Concat(spellings(plantedInURL), spellings(plantedRaw), spellings(plantedOld), keyLines) {
			if at := strings.Index(text, needle); at >= 0 {
				t.Errorf("%s contains a password, or a line of a private key: %s", name, text[max(0, at-200):min(len(text), at+60)])
			}
		}
	}
	// The search would have found one: the annotation of a Cluster goes through
	// the audit log and the CRs, and its name through the log and the events.
	for _, name := range []string{"audit log", "custom resources", "operator log", "events"} {
		if !strings.Contains(haystacks[name], canary) {
			t.Errorf("the canary is not found in: %s", name)
		}
	}
	values, _ := f.secrets(canary)
	if text := string(values.Data[render.ValuesKey]); !strings.Contains(text, plantedInURL) || !strings.Contains(text, plantedOld) {
		t.Error("the password never reached the Secrets, so nothing could leak")
	}
}

// liveThrough makes everything happen that writes messages: success, drift, a
// rival, a taken name, bad sources of each kind, a private key beside the certificate, refused requests. It returns the lines
// of that key, raw and as base64.
func (f *fixture) liveThrough() (keyLines []string) {
	f.Helper()
	good := map[string]string{
		"http": "http://user:" + plantedInURL + "@proxy.example:3128", "httpPrevious": "http://user:" + plantedOld + "@proxy.example:3128", "noProxy": exampleNoProxy,
	}
	source := f.source("values", good)
	authority, key := cabundletest.Authority(f, "A")
	bundle := f.source("ca", map[string]string{"ca.crt": authority})
	f.proxy("values", trusts("Secret", bundle.Name))
	f.cluster(canary)
	f.report(canary, "Applied")

	f.must(f.client.Create(f.Context(), secretNamed(f.namespace, "taken-cluster-values")))
	f.cluster("taken")
	f.report("taken", "NameTaken")
	frozen := secretNamed(f.namespace, "frozen-cluster-values")
	frozen.Annotations, frozen.Immutable = map[string]string{render.AdoptKey: "true"}, ptr.To(true)
	frozen.StringData = map[string]string{"values": "x"}
	f.must(f.client.Create(f.Context(), frozen))
	f.cluster("frozen")
	f.report("frozen", "Refused")

	for i := range 2 {
		f.nextSecond(canary)
		values, _ := f.secrets(canary)
		values.Data[render.ValuesKey] = []byte("cluster: {}")
		f.must(f.client.Update(f.Context(), values, client.FieldOwner("rival")))
		f.reapply(canary, fmt.Sprint(i))
	}
	contended := f.report(canary, "Contended")
	message := readyMessage(contended)
	if !meta.IsStatusConditionTrue(contended.Status.Conditions, v1alpha1.ConditionContended) || !strings.Contains(message, `"rival"`) || !strings.Contains(message, "2 times") {
		f.Errorf("conditions: %+v", contended.Status.Conditions)
	}

	for _, bad := range []map[string]string{
		{"http": "http://user:" + plantedInURL + "@proxy.example"},
		{"http": "ftp://user:" + plantedInURL + "@proxy.example:21"},
		{"http": "http://user:" + plantedInURL + "%@proxy.example:3128"},
		{"http": "user:" + plantedInURL + "@proxy.example:3128"},
		{"http": good["http"], "noProxy": good["http"]},
		{"http": good["http"], "httpPrevious": "http://user:" + plantedOld + "@other.example:3128"},
		{"http": good["http"], "httpPrevious": "http://user:" + plantedOld + "@proxy.example"},
	} {
		modify(f, source, func(s *corev1.Secret) { s.Data, s.StringData = nil, bad })
		f.report(canary, "InvalidProxy")
		f.report("taken", "InvalidProxy")
		modify(f, source, func(s *corev1.Secret) { s.Data, s.StringData = nil, good })
		f.report("taken", "NameTaken")
	}

	modify(f, bundle, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte(key + authority) })
	f.awaitReport(canary, "the private key is refused", func(r *v1alpha1.ProxyReport) bool {
		return strings.HasPrefix(readyMessage(r), "Secret ca: data.ca.crt: line 1: a private key is in it")
	})
	f.awaitCA(canary, authority) // the last good one
	modify(f, bundle, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte(authority) })
	f.report("taken", "NameTaken")
	for _, line := range strings.Split(strings.TrimSpace(key), "\n") {
		keyLines = append(keyLines, line, base64.StdEncoding.EncodeToString([]byte(line)))
	}

	f.source("raw", map[string]string{"username": "user", "password": plantedRaw})
	f.proxy("raw", func(p *v1alpha1.CorporateProxy) {
		p.Spec.Priority = 1
		p.Spec.Source = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://proxy.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "raw"}}}
	})
	f.awaitReport(canary, "the raw credentials", func(r *v1alpha1.ProxyReport) bool { return r.Status.ProxyName == "raw" })
	err := f.client.Create(f.Context(), &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: "refused"},
		Spec:       v1alpha1.CorporateProxySpec{Source: v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://user:in-a-cr@proxy.example:3128"}}},
	})
	if err == nil || strings.Contains(err.Error(), "in-a-cr") {
		f.Errorf("the API server accepted or repeated a password: %v", err)
	}
	f.must(f.client.Delete(f.Context(), &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "raw"}}))
	f.awaitReport(canary, "the URL's credentials", func(r *v1alpha1.ProxyReport) bool { return r.Status.ProxyName == "values" })
	return keyLines
}

// spellings are the ways in which a password may turn up.
func spellings(password string) []string {
	all := []string{password, url.QueryEscape(password), url.PathEscape(password), fmt.Sprintf("%q", password)}
	for _, part := range []string{password, "user:" + password, url.UserPassword("user", password).String()} {
		// Within a longer text the base64 of a part begins at one of three places;
		// what is cut off belongs to its neighbours.
		for shift := range 3 {
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + part))
			all = append(all, strings.TrimRight(encoded, "=")[(shift*8+5)/6:(shift+len(part))*8/6])
		}
	}
	return all
}

// everywhere collects what people and programs can read who may not read the
// Secrets. In the audit log, bodies of Secrets are left out by its policy.
func (f *fixture) everywhere() map[string]string {
	f.Helper()
	log, err := f.operator.Log()
	f.must(err)
	metrics, err := f.operator.Metrics(f.Context())
	f.must(err)
	events := &eventsv1.EventList{}
	controlplanetest.Await(f, "events", func(ctx context.Context) (bool, error) {
		err := f.client.List(ctx, events)
		return controlplanetest.Holds(err == nil && len(events.Items) > 5, "there are %d (%v)", len(events.Items), err)
	})
	audit, err := f.cp.AuditEvents(0)
	f.must(err)
	audited := f.json(audit)
	if strings.Count(audited, operator.User) < 10 {
		f.Error("the audit log has hardly anything of the operator")
	}
	return map[string]string{
		"operator log":     log,
		"metrics":          metrics,
		"events":           f.text(events),
		"audit log":        audited,
		"custom resources": f.text(&v1alpha1.CorporateProxyList{}) + f.text(&v1alpha1.ProxyOverrideList{}) + f.text(&v1alpha1.ProxyReportList{}),
		"ConfigMaps":       f.text(&corev1.ConfigMapList{}) + " ",
	}
}

// text lists objects and returns them as JSON, managed fields included.
func (f *fixture) text(list client.ObjectList) string {
	f.Helper()
	f.must(f.client.List(f.Context(), list))
	return f.json(list)
}

func (f *fixture) json(content any) string {
	f.Helper()
	text, err := json.Marshal(content)
	f.must(err)
	return string(text)
}
