package revision

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func TestADifferenceNamesEntriesAndFieldsAndNoSecret(t *testing.T) {
	before := Public{
		Credentials: "f1", HTTP: "http://proxy.example:3128", SourceEntries: []string{"10.0.0.0/8", ".corp.example"}, TrustedCA: "c1",
		Spec: v1alpha1.CorporateProxySpec{Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "a"}}, NoProxy: []v1alpha1.NoProxyEntry{{Value: "old.example"}}},
	}
	after := Public{
		Credentials: "f2", Previous: "f1", HTTP: "http://me:S3CRET@proxy.example:8080", SourceEntries: []string{".corp.example", "10.0.0.0/8"}, TrustedCA: "c2",
		Spec: v1alpha1.CorporateProxySpec{
			Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "b"}}, NoProxy: []v1alpha1.NoProxyEntry{{Value: "new.example", Reason: "why"}},
			Probes: &v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{URL: "https://a.example", Route: "Proxied"}}},
			Form:   "Exact", Node: v1alpha1.NodeSettings{Units: []string{"a.service", "b.service"}},
		},
	}
	got := Compare(before, after)
	want := Difference{Came: []string{"new.example"}, Went: []string{"old.example"}, Fields: []FieldChange{
		{Field: "http", Before: "http://proxy.example:3128", After: "***@proxy.example:8080"},
		{Field: "credentials"},
		{Field: "previous credentials", How: "added"},
		{Field: "trustedCA"},
		{Field: "spec.form", Before: "", After: "Exact"},
		{Field: "spec.node.units", Before: "", After: "a.service, b.service"},
		{Field: "spec.probes.mustReach", Before: "", After: `{"route":"Proxied","url":"https://a.example"}`},
		{Field: "spec.source.valuesRef.name", Before: "a", After: "b"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if back := Compare(after, before); !slices.Contains(back.Fields, FieldChange{Field: "previous credentials", How: "removed"}) {
		t.Errorf("of the way back: %+v", back)
	}
	if text, _ := json.Marshal(got); strings.Contains(string(text), "S3CRET") || strings.Contains(string(text), "f2") {
		t.Errorf("%s", text)
	}
	if got := Compare(after, after); !reflect.DeepEqual(got, Difference{}) && len(got.Came)+len(got.Went)+len(got.Fields) > 0 {
		t.Errorf("of the same: %+v", got)
	}
}

func TestChangesOfBeforeAreNotThoseOfARevision(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	before := Public{Changes: []Change{{"CorporateProxy corp", "flux", &early}, {"Secret a", "kubectl", &early}}}
	after := Public{Changes: []Change{{"CorporateProxy corp", "flux", &late}, {"Secret a", "kubectl", &early}, {"Secret b", "kubectl", nil}}}
	if got, want := after.ChangesAfter(before), []Change{after.Changes[0], after.Changes[2]}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
