package revision_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Another text of a content that did not change would be another revision, which an upgrade records for every CorporateProxy.
func TestTheTextOfAContentStaysWhatItWas(t *testing.T) {
	proxy := &v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{
		Priority: 3,
		Source:   v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://p:1"}},
		NoProxy:  []v1alpha1.NoProxyEntry{{Value: "a.example", Reason: "for people"}, {Value: "10.0.0.0/8"}},
		Rollout:  &v1alpha1.Rollout{},
	}}
	proxy.Name = "default"
	content, err := revision.Of(proxy, func(inputs.Reference) (map[string][]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content.Text())
	if got, want := hex.EncodeToString(sum[:]), "4d1830f797373187c4e8223efe57541d876dfd901310b26714d9bb1e19b5c3a4"; got != want {
		t.Errorf("%s, not %s:\n%s", got, want, content.Data()["spec"])
	}
}

func withEntries(entries ...v1alpha1.NoProxyEntry) *v1alpha1.CorporateProxy {
	proxy := &v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{
		Source: v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://p:1"}}, NoProxy: entries,
	}}
	proxy.Name = "default"
	return proxy
}

// An end that is set or moved is no revision; that an entry has ended is the one that a removal would be.
func TestAnEntryIsInAContentUntilItEnds(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	entry := v1alpha1.NoProxyEntry{Value: "a.example", Owner: "team", Reason: "moves", Until: &metav1.Time{Time: noon}}
	other := v1alpha1.NoProxyEntry{Value: "b.example", Owner: "them", Reason: "stays"}
	content := func(proxy *v1alpha1.CorporateProxy) revision.Content {
		c, err := revision.Of(proxy, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	proxy := withEntries(entry, other)
	if !content(inputs.InEffect(proxy, noon.Add(-1))).Same(content(withEntries(v1alpha1.NoProxyEntry{Value: "a.example"}, v1alpha1.NoProxyEntry{Value: "b.example"}))) {
		t.Error("an end that is to come is in the content")
	}
	after := inputs.InEffect(proxy, noon)
	if !content(after).Same(content(withEntries(v1alpha1.NoProxyEntry{Value: "b.example"}))) {
		t.Error("an entry that has ended is in the content")
	}
	if !content(inputs.InEffect(withEntries(entry), noon)).Same(content(withEntries())) {
		t.Error("a list of which all has ended is not an empty one")
	}
	public := revision.PublicOf(after, resolve.Installation{})
	if got := public.Spec.NoProxy; len(got) != 1 || got[0] != other {
		t.Errorf("the public half has %+v", got)
	}
	if got := revision.PublicOf(proxy, resolve.Installation{}).Spec.NoProxy; len(got) != 2 || got[0].Until != nil || got[0].Owner != "team" {
		t.Errorf("the public half has %+v", got)
	}
}
