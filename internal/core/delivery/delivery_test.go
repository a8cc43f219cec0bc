package delivery

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const everything = `
cluster:
  proxy:
    http: "http://u:p%23@proxy:3128"
    https: "http://u:p%23@proxy:3129"
    noProxy: "a.example,b.example"
    previous: {http: "http://u:old@proxy:3128", https: "http://u:old@proxy:3129"}
  probes:
    targets: []
    credentials: {current: c1, previous: c0}
    revision: corp/7/0123
http_proxy: "http://u:p%23@proxy:3128"
`

// What fairlead-policies writes for the same values is compared in e2e/charts.
func TestTheSourceHasTheKeysThatTheValuesAskFor(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		want   map[string]string
	}{
		"everything": {everything, map[string]string{
			"HTTP_PROXY": "http://u:p%23@proxy:3128", "HTTPS_PROXY": "http://u:p%23@proxy:3129", "NO_PROXY": "a.example,b.example",
			"HTTP_PROXY_PREVIOUS": "http://u:old@proxy:3128", "HTTPS_PROXY_PREVIOUS": "http://u:old@proxy:3129",
			"FINGERPRINT": "c1", "FINGERPRINT_PREVIOUS": "c0", "REVISION": "corp/7/0123",
		}},
		"no proxy": {`cluster: {proxy: {http: "", https: "", noProxy: "a"}}`, map[string]string{"HTTP_PROXY": "", "HTTPS_PROXY": "", "NO_PROXY": ""}},
		"nothing":  {``, map[string]string{"HTTP_PROXY": "", "HTTPS_PROXY": "", "NO_PROXY": ""}},
		"a revision that nobody compares": {`cluster: {proxy: {http: "http://u:p@p:1", noProxy: a}, probes: {revision: corp/3/0123}}`, map[string]string{
			"HTTP_PROXY": "http://u:p@p:1", "HTTPS_PROXY": "", "NO_PROXY": "a",
		}},
		"no credentials, and somebody looks": {`cluster: {proxy: {http: "http://p:1", noProxy: a}, probes: {targets: [{url: "https://x"}], revision: corp/3/0123}}`, map[string]string{
			"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "", "NO_PROXY": "a", "REVISION": "corp/3/0123",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := SourceOf([]byte(tc.values), "ns")
			if err != nil {
				t.Fatal(err)
			}
			got := parse(t, document)
			data := map[string]string{}
			for key, value := range got.Data {
				data[key] = string(value)
			}
			if diff := cmp.Diff(tc.want, data); diff != "" || got.Name != SecretName || got.Namespace != "ns" || got.Type != "Opaque" || len(got.Labels) != 2 || len(got.Annotations) != 1 {
				t.Errorf("%+v (-want +got):\n%s", got.ObjectMeta, diff)
			}
		})
	}
}

func TestBadValuesAreRefusedAndNotShown(t *testing.T) {
	for _, values := range []string{"cluster: [pw]", "cluster: {proxy: {http: {pw: 1}}}", `cluster: {proxy: {https: "http://u:pw\n@p:1"}}`, "\tpw: ["} {
		if _, err := SourceOf([]byte(values), "ns"); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", values, err)
		}
	}
}

func parse(t *testing.T, document []byte) (object corev1.Secret) {
	t.Helper()
	if err := yaml.UnmarshalStrict(document, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestAPayloadIsOneDocumentBelowACommentAndCanBeTakenApart(t *testing.T) {
	document, err := SourceOf([]byte(everything), "ns")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 24, 15, 4, 5, 0, time.UTC)
	a, b := Seal(document, at, [NonceBytes]byte{1}), Seal(document, at, [NonceBytes]byte{2})
	if Hash(a) == Hash(b) || a[0] != '#' || len(a)%3 != 0 || !cmp.Equal(parse(t, a), parse(t, document)) {
		t.Errorf("%d bytes; hashes %s and %s", len(a), Hash(a), Hash(b))
	}
	if got, when, ok := Open(b); !ok || string(got) != string(document) || !when.Equal(at) {
		t.Errorf("%t, %s", ok, when)
	}
	for _, other := range []string{"", "{}", "# given at \n{}", "# given at 2026-11-24T15:04:05Z\n{}", "# given at x y\n{}", "# given at 2026-11-24T15:04:05Z 00"} {
		if _, _, ok := Open([]byte(other)); ok {
			t.Errorf("%q is taken", other)
		}
	}
}

// Five thousand clusters that were sealed in the same second are not due in the same one again, and each is once a period.
func TestRenewalsAreSpreadOverThePeriod(t *testing.T) {
	sealed := time.Date(2026, 11, 24, 15, 4, 5, 0, time.UTC)
	quarters := map[int]int{}
	for i := range 5000 {
		name := "org/c" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		first := Due(name, sealed, time.Hour)
		if after := first.Sub(sealed); after <= 0 || after > time.Hour {
			t.Fatalf("%s is due after %s", name, after)
		}
		if again := Due(name, first, time.Hour); again.Sub(first) != time.Hour {
			t.Fatalf("%s is due again after %s", name, again.Sub(first))
		}
		quarters[int(first.Sub(sealed)/(15*time.Minute))]++
	}
	for quarter, n := range quarters {
		if n < 1000 || n > 1500 {
			t.Errorf("%d are due in quarter %d", n, quarter)
		}
	}
}

func TestWhoIsDeliveredTo(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster Cluster
		want    Verdict
		says    string
	}{
		"no label":                 {Cluster{Name: "a"}, Withdraw, ""},
		"its own name":             {Cluster{Name: "a", Label: "a"}, Deliver, ""},
		"another's":                {Cluster{Name: "a", Label: "b"}, Block, `is "b"`},
		"others with its name":     {Cluster{Name: "a", Label: "a", Others: []string{"z", "y", "x", "b"}}, Block, "b, x, y and 1 more"},
		"paused":                   {Cluster{Name: "a", Label: "a", Paused: true}, Leave, ""},
		"paused without a label":   {Cluster{Name: "a", Paused: true}, Leave, ""},
		"paused with another's":    {Cluster{Name: "a", Label: "b", Paused: true}, Leave, ""},
		"deleted":                  {Cluster{Name: "a", Label: "a", Deleting: true}, Leave, ""},
		"none, and others want it": {Cluster{Name: "a", Others: []string{"b"}}, Withdraw, ""},
	} {
		if got, says := Decide(tc.cluster); got != tc.want || !strings.Contains(says, tc.says) || (says == "") != (tc.says == "") {
			t.Errorf("%s: %d, %q", name, got, says)
		}
	}
}

var now = time.Date(2026, 11, 24, 15, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }

func TestWhatAnAnswerMeans(t *testing.T) {
	applied := &v1alpha1.Delivered{State: "Applied", HMAC: "h", Revision: 1, Time: ago(5 * time.Hour)}
	failing := &v1alpha1.Delivered{State: "NotApplied", HMAC: "h", Revision: 1, Time: ago(5 * time.Hour), Since: ago(time.Hour), Message: "w"}
	blocked := &v1alpha1.Delivered{State: "Blocked", HMAC: "h", Revision: 1, Time: ago(5 * time.Hour), Since: ago(time.Hour), Message: "b"}
	for name, tc := range map[string]struct {
		last   *v1alpha1.Delivered
		answer Answer
		want   *v1alpha1.Delivered
		wait   time.Duration
	}{
		"the first":                     {nil, Answer{HMAC: "h", Revision: 1, Applied: true, At: now}, &v1alpha1.Delivered{State: "Applied", HMAC: "h", Revision: 1, Time: ago(0)}, 0},
		"applied again":                 {applied, Answer{HMAC: "h", Revision: 1, Applied: true, At: now}, applied, 0},
		"other settings":                {applied, Answer{HMAC: "i", Revision: 2, Applied: true, At: now}, &v1alpha1.Delivered{State: "Applied", HMAC: "i", Revision: 2, Time: ago(0)}, 0},
		"well again":                    {failing, Answer{HMAC: "h", Revision: 1, Applied: true, At: now}, applied, 0},
		"on their way":                  {applied, Answer{HMAC: "i", Given: now.Add(-time.Minute), Words: "w"}, applied, 9 * time.Minute},
		"the first, on its way":         {nil, Answer{HMAC: "h", Given: now.Add(-time.Minute), Words: "w"}, nil, 9 * time.Minute},
		"late":                          {applied, Answer{HMAC: "h", Given: now.Add(-time.Hour), Words: "w"}, failing, 0},
		"late, and given again":         {failing, Answer{HMAC: "h", Given: now.Add(-time.Minute), Words: "w"}, failing, 0},
		"no longer blocked, on its way": {blocked, Answer{HMAC: "i", Given: now.Add(-time.Minute), Words: "w"}, applied, 9 * time.Minute},
		"the first, no longer blocked":  {Blocked(nil, "b", now), Answer{HMAC: "h", Given: now.Add(-time.Minute), Words: "w"}, nil, 9 * time.Minute},
		"no longer blocked, and late":   {blocked, Answer{HMAC: "h", Given: now.Add(-time.Hour), Words: "w"}, failing, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, wait := Next(tc.last, tc.answer, now, 10*time.Minute)
			if diff := cmp.Diff(tc.want, got); diff != "" || wait != tc.wait {
				t.Errorf("wait %s (-want +got):\n%s", wait, diff)
			}
		})
	}
	if got := Blocked(blocked, "b", now); !cmp.Equal(got, blocked) {
		t.Errorf("blocked on: %+v", got)
	}
	if got := Blocked(applied, strings.Repeat("ä", 2000), now); got.State != "Blocked" || !got.Since.Equal(ago(0)) || got.HMAC != "h" || len(got.Message) > 1024 {
		t.Errorf("blocked: %+v", got)
	}
}

func TestTheConditionFollowsFromWhatArrivedAndWhatThereIsNow(t *testing.T) {
	for name, tc := range map[string]struct {
		delivered *v1alpha1.Delivered
		want      string
	}{
		"nobody delivers":     {nil, ""},
		"arrived":             {&v1alpha1.Delivered{State: "Applied", HMAC: "now"}, "True Delivered"},
		"others arrived":      {&v1alpha1.Delivered{State: "Applied", HMAC: "before"}, "False Pending"},
		"not applied":         {&v1alpha1.Delivered{State: "NotApplied", HMAC: "before", Since: ago(0), Message: "w"}, "False NotDelivered"},
		"never applied":       {&v1alpha1.Delivered{State: "NotApplied", Since: ago(0), Message: "w"}, "False NotDelivered"},
		"not applied again":   {&v1alpha1.Delivered{State: "NotApplied", HMAC: "now", Since: ago(0), Message: "w"}, "Unknown NotRenewed"},
		"blocked":             {&v1alpha1.Delivered{State: "Blocked", HMAC: "now", Message: "w"}, "False Blocked"},
		"blocked, and others": {&v1alpha1.Delivered{State: "Blocked", HMAC: "before", Message: "w"}, "False Blocked"},
	} {
		got := ""
		if c := Condition(tc.delivered, "now"); c != nil {
			got = string(c.Status) + " " + c.Reason
			if tc.delivered.Message != "" && !strings.Contains(c.Message, "w") || tc.delivered.State == "NotApplied" && !strings.Contains(c.Message, "2026-11-24T15:00:00Z") {
				t.Errorf("%s: %s", name, c.Message)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if c := Condition(&v1alpha1.Delivered{State: "Applied"}, ""); c.Reason != v1alpha1.ReasonPending {
		t.Errorf("settings that nobody knows: %s", c.Reason)
	}
}

func TestNamesAndDocumentsOfTheParts(t *testing.T) {
	var names []string
	for _, part := range []Part{Source, Namespace} {
		names = append(names, part.Name("c")+" "+part.Strategy())
	}
	if want := []string{"c-fairlead-source Reconcile", "c-fairlead-namespace ApplyOnce"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	var object map[string]any
	if err := yaml.Unmarshal(NamespaceOf("n"), &object); err != nil || !maps.EqualFunc(object, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "n"},
	}, func(a, b any) bool { return cmp.Equal(a, b) }) {
		t.Errorf("%v, %v", object, err)
	}
}
