package revision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func TestTheNameOfARevisionIsReadBack(t *testing.T) {
	for _, proxy := range []string{"corp", "corp-1", "1", "a-1-2", "a.b-3", "revision-1", "fairlead-revision-1"} {
		for _, number := range []int64{1, 10, 1<<63 - 1} {
			got, n, ok := revision.ParseName(revision.Name(proxy, number))
			if !ok || got != proxy || n != number {
				t.Errorf("%s: %q, %d, %v", revision.Name(proxy, number), got, n, ok)
			}
		}
	}
	for _, name := range []string{
		"", "fairlead-revision-", "fairlead-revision-1", "fairlead-revision--1", "fairlead-revision-corp", "fairlead-revision-corp-", "fairlead-revision-corp-0",
		"fairlead-revision-corp-01", "fairlead-revision-corp-+1", "fairlead-revision-corp-x", "fairlead-revision-corp-9223372036854775808", "fairlead-rollout-corp-1", "x-fairlead-revision-corp-1",
	} {
		if proxy, n, ok := revision.ParseName(name); ok {
			t.Errorf("%s: %q, %d", name, proxy, n)
		}
	}
}

func TestANameThatIsTooLongIsRefused(t *testing.T) {
	if problem := revision.NameProblem(strings.Repeat("a", 200)); problem != "" || len(revision.Name(strings.Repeat("a", 200), 1<<63-1)) > 253 {
		t.Error(problem)
	}
	if revision.NameProblem(strings.Repeat("a", 201)) == "" {
		t.Error("201 characters")
	}
}

func TestTheControlConfigMapIsReadOnTheSafeSide(t *testing.T) {
	for name, test := range map[string]struct {
		data  map[string]string
		want  revision.Control
		wrong string
	}{
		"nothing":        {nil, revision.Control{}, ""},
		"paused":         {map[string]string{"paused": "true"}, revision.Control{Paused: true}, ""},
		"not paused":     {map[string]string{"paused": "false"}, revision.Control{}, ""},
		"empty":          {map[string]string{"paused": "", "rejected": " \n"}, revision.Control{}, ""},
		"something else": {map[string]string{"paused": "True", "rejected": "a"}, revision.Control{Paused: true, Rejected: []string{"a"}}, "data.paused is neither true nor false"},
		"digests":        {map[string]string{"rejected": "a  b\nc\t"}, revision.Control{Rejected: []string{"a", "b", "c"}}, ""},
		"keys of nobody": {map[string]string{"reject": "a"}, revision.Control{}, ""},
	} {
		got, err := revision.ParseControl(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-rollout-corp"}, Data: test.data})
		if got.Paused != test.want.Paused || strings.Join(got.Rejected, "|") != strings.Join(test.want.Rejected, "|") || (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := revision.ParseControl(nil); err != nil || got.Paused || got.Rejected != nil {
		t.Errorf("none: %+v, %v", got, err)
	}
	if proxy, ok := revision.ControlledProxy(revision.ControlName("corp-1")); proxy != "corp-1" || !ok {
		t.Errorf("%q, %v", proxy, ok)
	}
	for _, name := range []string{"", "fairlead-rollout-", "rollout-corp"} {
		if proxy, ok := revision.ControlledProxy(name); ok {
			t.Errorf("%s: %q", name, proxy)
		}
	}
}

func TestARecordIsReadBack(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	small := revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: 1, Digest: "d"}, Since: at}
	big := small
	big.Number, big.Override, big.Facts, big.Tolerated, big.Settled = 1<<63-1, "o", "f", true, &at
	big.Before = &revision.Before{Number: 1<<63 - 2, Digest: "b"}
	for _, want := range []revision.Record{small, big} {
		got, is, err := revision.ParseRecord(want.String())
		if !is || err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v, %s", want, is, err, cmp.Diff(want, got))
		}
	}
}

func TestNonsenseIsNoRecord(t *testing.T) {
	const rest = `,"digest":"d","since":"2026-03-01T12:00:00Z"`
	for _, text := range []string{
		" ", "null", "{}", "[]", "1", `"x"`, "S3CRET", `{"proxy":"corp"`,
		`{"proxy":"","number":1` + rest + `}`, `{"proxy":"corp","number":0` + rest + `}`, `{"proxy":"corp","number":-1` + rest + `}`,
		`{"proxy":"corp","number":1.5` + rest + `}`, `{"proxy":"corp","number":1e30` + rest + `}`, `{"proxy":"corp","number":"1"` + rest + `}`,
		`{"proxy":"corp","number":9223372036854775808` + rest + `}`, `{"proxy":"corp","number":1,"since":"2026-03-01T12:00:00Z"}`,
		`{"proxy":7,"number":1` + rest + `}`, `{"proxy":"corp","number":1,"digest":"d","since":"S3CRET"}`, `{"proxy":"corp","number":1,"digest":"d","since":5}`,
		`{"proxy":"corp","number":1,"before":{"number":-1,"digest":"d"}` + rest + `}`, `{"proxy":"corp","number":1,"before":"x"` + rest + `}`,
		`{"proxy":"corp","number":1,"tolerated":"yes"` + rest + `}`, `{"proxy":"corp","number":1` + rest + `} x`, strings.Repeat("[", 100_000), "\x00\xff",
	} {
		got, is, err := revision.ParseRecord(text)
		if is || err == nil || got.Proxy != "" || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%.60s: %+v, %v", text, got, err)
		}
	}
	if _, is, err := revision.ParseRecord(""); is || err != nil {
		t.Errorf("nothing: %v, %v", is, err)
	}
}

func TestNonsenseIsNoPublicHalf(t *testing.T) {
	for _, text := range []string{"", "{}", "- a", "proxy: corp", "proxy: corp\nnumber: 0", "proxy: corp\nnumber: -1", "proxy: corp\nnumber: x", "proxy: [", "number: 1"} {
		if _, err := revision.ParsePublic(map[string]string{revision.PublicKey: text}); err == nil {
			t.Errorf("%q", text)
		}
	}
}
