package revision_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

const password = "S3CRET"

// stored has objects by kind and name, with keys and values.
type stored map[string]map[string]string

func (s stored) get(ref inputs.Reference) (map[string][]byte, error) {
	texts, ok := s[ref.String()]
	if !ok {
		return nil, nil
	}
	data := map[string][]byte{}
	for key, text := range texts {
		data[key] = []byte(text)
	}
	return data, nil
}

// with is the same with one more value.
func (s stored) with(object, key, value string) stored {
	next := stored{}
	for name, data := range s {
		next[name] = map[string]string{}
		for k, v := range data {
			next[name][k] = v
		}
	}
	if next[object] == nil {
		next[object] = map[string]string{}
	}
	next[object][key] = value
	return next
}

func proxy(change func(*v1alpha1.CorporateProxySpec)) *v1alpha1.CorporateProxy {
	p := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "corp"}}
	p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "registry.example", Reason: "the mirror"}}
	change(&p.Spec)
	return p
}

func values(next string) func(*v1alpha1.CorporateProxySpec) {
	return func(s *v1alpha1.CorporateProxySpec) { s.Source.ValuesRef = reference("values", next) }
}

func login(next string) func(*v1alpha1.CorporateProxySpec) {
	return func(s *v1alpha1.CorporateProxySpec) {
		s.Source.URL = &v1alpha1.ProxyURLs{HTTP: "http://p:1", HTTPS: "http://q:2", CredentialsRef: reference("login", next)}
	}
}

func reference(name, next string) *v1alpha1.SecretReference {
	ref := &v1alpha1.SecretReference{Name: name}
	if next != "" {
		ref.Next = &v1alpha1.SuccessorReference{Name: next}
	}
	return ref
}

func withCA(source func(*v1alpha1.CorporateProxySpec), ref v1alpha1.CertificateReference) func(*v1alpha1.CorporateProxySpec) {
	return func(s *v1alpha1.CorporateProxySpec) { source(s); s.TrustedCARef = &ref }
}

func url(user string) string { return "http://" + user + ":" + password + "@p:1" }

// sources are all kinds of source.
func sources(t *testing.T) map[string]struct {
	proxy   *v1alpha1.CorporateProxy
	objects stored
} {
	t.Helper()
	ca, _ := cabundletest.Authority(t, "A")
	all := stored{
		"Secret values": {"http": url("me"), "https": url("me"), "noProxy": "a,b", "httpPrevious": url("old"), "other": password},
		"Secret plain":  {"http": "http://p:1", "other": "x"},
		"Secret next":   {"http": url("next"), "https": url("next"), "httpPrevious": url("x")},
		"Secret list":   {"http": url("next"), "https": url("next"), "noProxy": "c"},
		"Secret empty":  {},
		"Secret login":  {"username": "me", "password": password, "previousUsername": "old", "previousPassword": password + "-old", "http": ca, "username.": ca},
		"Secret login2": {"username": "next", "password": password + "-next", "previousUsername": "x"},
		"ConfigMap ca":  {"ca.crt": ca, "..odd_-KEY.pem": ca},
	}
	type source = struct {
		proxy   *v1alpha1.CorporateProxy
		objects stored
	}
	return map[string]source{
		"values":                       {proxy(values("")), all},
		"values and their successor":   {proxy(values("next")), all},
		"a successor with a list":      {proxy(values("list")), all},
		"a successor of nothing":       {proxy(func(s *v1alpha1.CorporateProxySpec) { s.Source.ValuesRef = reference("empty", "next") }), all},
		"URLs":                         {proxy(func(s *v1alpha1.CorporateProxySpec) { s.Source.URL = &v1alpha1.ProxyURLs{HTTP: "http://p:1"} }), nil},
		"a login":                      {proxy(login("")), all},
		"a login and its successor":    {proxy(login("login2")), all},
		"a CA":                         {proxy(withCA(values(""), v1alpha1.CertificateReference{Name: "ca"})), all},
		"a CA with an odd key":         {proxy(withCA(login("login2"), v1alpha1.CertificateReference{Kind: "ConfigMap", Name: "ca", Key: "..odd_-KEY.pem"})), all},
		"a CA in the Secret of login":  {proxy(withCA(login(""), v1alpha1.CertificateReference{Kind: "Secret", Name: "login", Key: "http"})), all},
		"a CA with a key like another": {proxy(withCA(login(""), v1alpha1.CertificateReference{Kind: "Secret", Name: "login", Key: "username."})), all},
	}
}

func TestAContentThatWasKeptMeansTheSame(t *testing.T) {
	for name, source := range sources(t) {
		t.Run(name, func(t *testing.T) {
			want, err := inputs.Installation(source.proxy, source.objects.get)
			if err != nil {
				t.Fatal(err)
			}
			content, err := revision.Of(source.proxy, source.objects.get)
			if err != nil {
				t.Fatal(err)
			}
			read, err := revision.Parse(content.Data())
			if err != nil || !read.Same(content) {
				t.Fatalf("read again: %v, %v", read, err)
			}
			for _, c := range []revision.Content{content, read} {
				got, err := c.Installation("corp")
				if err != nil || meaning(got) != meaning(want) {
					t.Errorf("%v\ngot  %s\nwant %s", err, meaning(got), meaning(want))
				}
			}
		})
	}
}

// meaning is all of an installation, passwords included.
func meaning(i resolve.Installation) string {
	var sources []string
	for _, item := range i.NoProxy {
		sources = append(sources, fmt.Sprint(item.Entry, item.Sources))
	}
	return strings.Join([]string{
		i.Name, i.HTTP.Reveal(), i.HTTPS.Reveal(), i.Previous.HTTP.Reveal(), i.Previous.HTTPS.Reveal(), strings.Join(sources, ","),
		fmt.Sprintf("%+v", i.Node), fmt.Sprint(i.Delegation, i.Form, i.ConfigMap),
	}, "\n")
}

func TestAContentOfWhatIsMissingSaysSoAsTheCorporateProxyDoes(t *testing.T) {
	all := stored{"Secret values": {"http": url("me")}, "Secret login": {"username": "me", "password": password}}
	for name, p := range map[string]*v1alpha1.CorporateProxy{
		"a Secret":     proxy(func(s *v1alpha1.CorporateProxySpec) { s.Source.ValuesRef = reference("none", "") }),
		"a successor":  proxy(values("none")),
		"a login":      proxy(login("none")),
		"certificates": proxy(withCA(values(""), v1alpha1.CertificateReference{Name: "none"})),
		"keys":         proxy(func(s *v1alpha1.CorporateProxySpec) { login("")(s); s.Source.URL.CredentialsRef.Name = "values" }),
	} {
		_, want := inputs.Installation(p, all.get)
		content, err := revision.Of(p, all.get)
		if err != nil || want == nil {
			t.Fatal(name, err, want)
		}
		if _, got := content.Installation("corp"); got == nil || got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestTheTextChangesWithTheMeaningAndNothingElse(t *testing.T) {
	objects := stored{
		"Secret values": {"http": url("me"), "noProxy": "a"}, "Secret login": {"username": "me", "password": password}, "Secret login2": {"username": "you", "password": password},
		"ConfigMap ca": {"ca.crt": "x"},
	}
	spec := func(*v1alpha1.CorporateProxySpec) {}
	loginSpec := func(change func(*v1alpha1.CorporateProxySpec)) func(*v1alpha1.CorporateProxySpec) {
		return func(s *v1alpha1.CorporateProxySpec) { s.Source.ValuesRef = nil; login("login2")(s); change(s) }
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	for name, test := range map[string]struct {
		change  func(*v1alpha1.CorporateProxySpec)
		objects stored
		base    func(*v1alpha1.CorporateProxySpec)
		differs bool
	}{
		"a priority":                    {func(s *v1alpha1.CorporateProxySpec) { s.Priority = 5 }, objects, spec, false},
		"a selector":                    {func(s *v1alpha1.CorporateProxySpec) { s.ClusterSelector = selector }, objects, spec, false},
		"namespaces":                    {func(s *v1alpha1.CorporateProxySpec) { s.AllowedNamespaces = selector }, objects, spec, false},
		"a reason":                      {func(s *v1alpha1.CorporateProxySpec) { s.NoProxy[0].Reason = "another" }, objects, spec, false},
		"waves":                         {func(s *v1alpha1.CorporateProxySpec) { s.Rollout = &v1alpha1.Rollout{Paused: true} }, objects, spec, false},
		"machines":                      {func(s *v1alpha1.CorporateProxySpec) { s.Node.Rollout = "Rolling" }, objects, spec, false},
		"a key that nobody reads":       {spec, objects.with("Secret values", "note", "x"), spec, false},
		"a Secret that nobody names":    {spec, objects.with("Secret x", "http", "x"), spec, false},
		"previous ones with a next one": {loginSpec(spec), objects.with("Secret login", "previousUsername", "x"), loginSpec(spec), false},
		"an entry":                      {func(s *v1alpha1.CorporateProxySpec) { s.NoProxy[0].Value = "other.example" }, objects, spec, true},
		"an entry of the Secret":        {spec, objects.with("Secret values", "noProxy", "b"), spec, true},
		"a password":                    {spec, objects.with("Secret values", "http", url("you")), spec, true},
		"a previous one":                {spec, objects.with("Secret values", "httpPrevious", url("you")), spec, true},
		"an empty previous one":         {spec, objects.with("Secret values", "httpPrevious", ""), spec, true},
		"the name of the Secret":        {func(s *v1alpha1.CorporateProxySpec) { s.Source.ValuesRef.Name = "other" }, objects, spec, true},
		"a next account":                {loginSpec(spec), objects.with("Secret login2", "password", "x"), loginSpec(spec), true},
		"no next one":                   {loginSpec(func(s *v1alpha1.CorporateProxySpec) { s.Source.URL.CredentialsRef.Next = nil }), objects, loginSpec(spec), true},
		"a form":                        {func(s *v1alpha1.CorporateProxySpec) { s.Form = "Exact" }, objects, spec, true},
		"delegation":                    {func(s *v1alpha1.CorporateProxySpec) { s.Delegation.Direct = "Allowed" }, objects, spec, true},
		"files for machines":            {func(s *v1alpha1.CorporateProxySpec) { s.Node.Files = []string{"K3s"} }, objects, spec, true},
		"delivery":                      {func(s *v1alpha1.CorporateProxySpec) { s.Node.Delivery = "Relay" }, objects, spec, true},
		"a CA":                          {func(s *v1alpha1.CorporateProxySpec) { s.TrustedCARef = &v1alpha1.CertificateReference{Name: "ca"} }, objects, spec, true},
	} {
		base := func(s *v1alpha1.CorporateProxySpec) { values("")(s); test.base(s) }
		was, err := revision.Of(proxy(base), objects.get)
		if err != nil {
			t.Fatal(err)
		}
		is, err := revision.Of(proxy(func(s *v1alpha1.CorporateProxySpec) { base(s); test.change(s) }), test.objects.get)
		if err != nil {
			t.Fatal(err)
		}
		if differs := string(was.Text()) != string(is.Text()); differs != test.differs || was.Same(is) == test.differs {
			t.Errorf("%s: differs %v", name, differs)
		}
	}
}

func TestAContentIsOfItsTimeOnly(t *testing.T) {
	p := proxy(values(""))
	content, err := revision.Of(p, stored{"Secret values": {"http": url("me")}}.get)
	if err != nil {
		t.Fatal(err)
	}
	before := string(content.Text())
	p.Spec.NoProxy[0].Value, p.Spec.Source.ValuesRef.Name = "other.example", "other"
	if after := string(content.Text()); after != before || p.Spec.NoProxy[0].Reason == "" {
		t.Errorf("%s, was %s", after, before)
	}
}

func TestNothingShowsAPassword(t *testing.T) {
	for name, source := range sources(t) {
		content, err := revision.Of(source.proxy, source.objects.get)
		if err != nil {
			t.Fatal(err)
		}
		installation, err := content.Installation("corp")
		if err != nil {
			t.Fatal(err)
		}
		public, err := revision.PublicOf(source.proxy, installation).Text()
		if err != nil {
			t.Fatal(err)
		}
		inJSON, err := json.Marshal(map[string]any{"content": content})
		if err != nil {
			t.Fatal(err)
		}
		shown := []string{public, string(inJSON)}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			shown = append(shown, fmt.Sprintf(verb, content), fmt.Sprintf(verb, &content), fmt.Sprintf(verb, []revision.Content{content}))
		}
		for _, text := range shown {
			if strings.Contains(text, password) || strings.Contains(text, "5333435245") || strings.Contains(text, "83 51 67") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	for _, text := range []string{`{"source":"` + password, `{"noProxy":"` + password + `"}`, password, ""} {
		if _, err := revision.Parse(map[string][]byte{"spec": []byte(text)}); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := revision.ParsePublic(map[string]string{"revision.yaml": "spec: {source: [" + password})
	if err == nil || strings.Contains(err.Error(), password) {
		t.Error(err)
	}
}

func TestThePublicHalfMeansTheSameWithoutSecrets(t *testing.T) {
	for name, source := range sources(t) {
		want, err := inputs.Installation(source.proxy, source.objects.get)
		if err != nil {
			t.Fatal(err)
		}
		public := revision.PublicOf(source.proxy, want)
		public.Number, public.Digest = 3, "d"
		text, err := public.Text()
		if err != nil {
			t.Fatal(err)
		}
		read, err := revision.ParsePublic(map[string]string{revision.PublicKey: text})
		if err != nil || !cmp.Equal(read, public) {
			t.Fatalf("%s: %v, %s", name, err, cmp.Diff(public, read))
		}
		got, err := read.Installation()
		if err != nil || got.NoProxy.String() != want.NoProxy.String() || !got.HTTP.Equal(want.HTTP.WithoutCredentials()) || !got.HTTPS.Equal(want.HTTPS.WithoutCredentials()) || got.HTTP.HasCredentials() {
			t.Errorf("%s: %v, %s", name, err, meaning(got))
		}
		if entries := strings.Join(read.Entries(), ","); entries != want.NoProxy.String() || (read.TrustedCA != "") != (source.proxy.Spec.TrustedCARef != nil) {
			t.Errorf("%s: %s, CA %q", name, entries, read.TrustedCA)
		}
		if read.Spec.NoProxy[0].Reason != "the mirror" || read.Spec.Rollout != nil {
			t.Errorf("%s: %+v", name, read.Spec)
		}
	}
}

func TestProbesAreContentAndWhenTheyAreTriedIsNot(t *testing.T) {
	objects := stored{"Secret values": {"http": "http://p:1"}}
	text := func(probes *v1alpha1.Probes) string {
		p := proxy(values(""))
		p.Spec.Probes = probes
		content, err := revision.Of(p, objects.get)
		if err != nil {
			t.Fatal(err)
		}
		return string(content.Text())
	}
	selecting := func(stage string) *v1alpha1.Probes {
		return &v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{
			URL: "https://a.example", ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": stage}},
		}}}
	}
	later := selecting("a")
	later.BeforeChange = v1alpha1.BeforeChangeNever
	if text(selecting("a")) != text(later) {
		t.Error("beforeChange is content")
	}
	if text(nil) == text(&v1alpha1.Probes{}) || text(selecting("a")) == text(selecting("b")) || text(&v1alpha1.Probes{}) == text(later) {
		t.Error("probes are no content")
	}
}
