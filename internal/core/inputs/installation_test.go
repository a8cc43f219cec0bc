package inputs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// getter has one Secret, of this content.
func getter(name string, data map[string]string) inputs.DataGetter {
	secret := inputs.SecretData(&corev1.Secret{})
	for key, value := range data {
		secret[key] = []byte(value)
	}
	return func(asked inputs.Reference) (map[string][]byte, error) {
		if asked != (inputs.Reference{Kind: inputs.KindSecret, Name: name}) {
			return nil, nil
		}
		return secret, nil
	}
}

func corporateProxy(source v1alpha1.ProxySource, noProxy ...string) *v1alpha1.CorporateProxy {
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: v1alpha1.CorporateProxySpec{Source: source}}
	for _, value := range noProxy {
		proxy.Spec.NoProxy = append(proxy.Spec.NoProxy, v1alpha1.NoProxyEntry{Value: value})
	}
	return proxy
}

func valuesRef() v1alpha1.ProxySource {
	return v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "corporate-proxy"}}
}

func urlSource(http, https, credentials string) v1alpha1.ProxySource {
	source := v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: http, HTTPS: https}}
	if credentials != "" {
		source.URL.CredentialsRef = &v1alpha1.SecretReference{Name: credentials}
	}
	return source
}

func TestAnInstallationIsReadFromEitherSource(t *testing.T) {
	const nasty, encoded = `p@ss:w#rd/%n"\$`, "p%40ss%3Aw%23rd%2F%25n%22%5C%24"
	for name, test := range map[string]struct {
		proxy                *v1alpha1.CorporateProxy
		get                  inputs.DataGetter
		http, https, noProxy string
	}{
		"three strings in a Secret": {
			corporateProxy(valuesRef(), "registry.example"),
			getter("corporate-proxy", map[string]string{"http": exampleURL, "https": exampleURL + "\n", "noProxy": "a,b\n", "other": "x"}),
			exampleURL, exampleURL, "a,b,registry.example",
		},
		"one string in a Secret": {
			corporateProxy(valuesRef()), getter("corporate-proxy", map[string]string{"https": exampleURL}),
			"", exampleURL, "",
		},
		"URLs without credentials": {
			corporateProxy(urlSource("http://p:1", "http://q:2", ""), "a"), getter("", nil),
			"http://p:1", "http://q:2", "a",
		},
		"URLs and raw credentials": {
			corporateProxy(urlSource("http://p:1", "http://q:2", "login")),
			getter("login", map[string]string{"username": `DOM\me`, "password": nasty + "\n"}),
			"http://DOM%5Cme:" + encoded + "@p:1", "http://DOM%5Cme:" + encoded + "@q:2", "",
		},
		"one URL and credentials": {
			corporateProxy(urlSource("", "http://q:2", "login")),
			getter("login", map[string]string{"username": "me", "password": "p"}),
			"", "http://me:p@q:2", "",
		},
		"credentials that are empty": {
			corporateProxy(urlSource("http://p:1", "", "login")),
			getter("login", map[string]string{"username": "", "password": ""}),
			"http://p:1", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Installation(test.proxy, test.get)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != "default" || got.HTTP.Reveal() != test.http || got.HTTPS.Reveal() != test.https || got.NoProxy.String() != test.noProxy {
				t.Errorf("got %q: %q, %q, %q", got.Name, got.HTTP.Reveal(), got.HTTPS.Reveal(), got.NoProxy)
			}
		})
	}
}

func TestEveryEntryOfAnInstallationNamesItsPlace(t *testing.T) {
	got, err := inputs.Installation(corporateProxy(valuesRef(), "c"), getter("corporate-proxy", map[string]string{"http": exampleURL, "noProxy": "a,,b"}))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, item := range got.NoProxy {
		places = append(places, item.Sources[0].Object+" "+item.Sources[0].Field)
	}
	want := []string{"Secret corporate-proxy data.noProxy[0]", "Secret corporate-proxy data.noProxy[2]", "CorporateProxy default spec.noProxy[0].value"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Error(diff)
	}
}

func TestAnInstallationThatCannotBeUsedIsToldWhy(t *testing.T) {
	both := valuesRef()
	both.URL = urlSource("http://p:1", "", "").URL
	secret := func(data map[string]string) inputs.DataGetter { return getter("corporate-proxy", data) }
	login := func(username, password string) inputs.DataGetter {
		return getter("login", map[string]string{"username": username, "password": password})
	}
	invalid, missing := resolve.ReasonInvalidProxy, resolve.ReasonSourceMissing
	for name, test := range map[string]struct {
		proxy         *v1alpha1.CorporateProxy
		get           inputs.DataGetter
		reason        resolve.Reason
		object, field string
		want          string
	}{
		"no source":               {corporateProxy(v1alpha1.ProxySource{}), secret(nil), invalid, "CorporateProxy default", "spec.source", "exactly one"},
		"both sources":            {corporateProxy(both), secret(nil), invalid, "CorporateProxy default", "spec.source", "exactly one"},
		"no Secret":               {corporateProxy(valuesRef()), getter("other", nil), missing, "CorporateProxy default", "spec.source.valuesRef", `Secret "corporate-proxy" does not exist`},
		"an empty Secret":         {corporateProxy(valuesRef()), secret(nil), invalid, "Secret corporate-proxy", "data.http, data.https", "both proxy URLs are empty"},
		"a bad URL":               {corporateProxy(valuesRef()), secret(map[string]string{"http": "http://p:1", "https": "http://me:S3CRET@p"}), invalid, "Secret corporate-proxy", "data.https", "port is missing"},
		"a bad password":          {corporateProxy(valuesRef()), secret(map[string]string{"http": "http://me:S3%CRET@p:1"}), invalid, "Secret corporate-proxy", "data.http", "starts no percent-encoding"},
		"a bad entry":             {corporateProxy(valuesRef()), secret(map[string]string{"http": "http://p:1", "noProxy": "a,http://me:S3CRET@p:1"}), invalid, "Secret corporate-proxy", "data.noProxy[1]", "hidden: a URL"},
		"a bad entry of the spec": {corporateProxy(urlSource("http://p:1", "", ""), "a", "10.*"), nil, invalid, "CorporateProxy default", "spec.noProxy[1].value", "wildcard"},
		"two entries in one":      {corporateProxy(urlSource("http://p:1", "", ""), "a,b"), nil, invalid, "CorporateProxy default", "spec.noProxy[0].value", "cannot be part"},
		"no URL":                  {corporateProxy(urlSource("", "", "login")), login("me", "p"), invalid, "CorporateProxy default", "spec.source.url", "both proxy URLs are empty"},
		"credentials in http":     {corporateProxy(urlSource("http://me:S3CRET@p:1", "", "")), nil, invalid, "CorporateProxy default", "spec.source.url.http", "must not contain user information"},
		"credentials in https":    {corporateProxy(urlSource("http://p:1", "http://S3CRET@p:1", "")), nil, invalid, "CorporateProxy default", "spec.source.url.https", "must not contain user information"},
		"a URL without a port":    {corporateProxy(urlSource("http://p", "", "")), nil, invalid, "CorporateProxy default", "spec.source.url.http", "port is missing"},
		"no such credentials":     {corporateProxy(urlSource("http://p:1", "", "login")), getter("other", nil), missing, "CorporateProxy default", "spec.source.url.credentialsRef", `Secret "login" does not exist`},
		"no username":             {corporateProxy(urlSource("http://p:1", "", "login")), getter("login", map[string]string{"password": "S3CRET"}), missing, "Secret login", "data.username", "key is missing"},
		"no password":             {corporateProxy(urlSource("http://p:1", "", "login")), getter("login", map[string]string{"username": "S3CRET"}), missing, "Secret login", "data.password", "key is missing"},
		"an empty username":       {corporateProxy(urlSource("http://p:1", "", "login")), login("", "S3CRET"), invalid, "Secret login", "data", "no username"},
		"a control character":     {corporateProxy(urlSource("http://p:1", "", "login")), login("me", "S3CRET\nx"), invalid, "Secret login", "data", "control character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inputs.Installation(test.proxy, test.get)
			if detail := problem(t, err, test.reason, test.object, test.field); !strings.Contains(detail, test.want) {
				t.Errorf("%s, want %q", detail, test.want)
			}
		})
	}
}

func TestCredentialsOfBeforeAreReadBesideThoseOfNow(t *testing.T) {
	for name, test := range map[string]struct {
		proxy       *v1alpha1.CorporateProxy
		data        map[string]string
		http, https string
	}{
		"URLs":     {corporateProxy(valuesRef()), map[string]string{"http": "http://p:1", "https": "http://me:new@q:2", "httpPrevious": "http://me:old@p:1\n", "httpsPrevious": "http://you:old@q:2/"}, "http://me:old@p:1", "http://you:old@q:2"},
		"one URL":  {corporateProxy(valuesRef()), map[string]string{"http": "http://p:1", "https": "http://me:new@q:2", "httpsPrevious": "http://me:old@q:2"}, "", "http://me:old@q:2"},
		"empty":    {corporateProxy(valuesRef()), map[string]string{"http": "http://p:1", "httpPrevious": "", "httpsPrevious": "\n"}, "", ""},
		"a login":  {corporateProxy(urlSource("http://p:1", "http://q:2", "corporate-proxy")), map[string]string{"username": "me", "password": "new", "previousUsername": "me", "previousPassword": "o@d\n"}, "http://me:o%40d@p:1", "http://me:o%40d@q:2"},
		"no login": {corporateProxy(urlSource("http://p:1", "http://q:2", "corporate-proxy")), map[string]string{"username": "me", "password": "new", "previousUsername": "", "previousPassword": ""}, "", ""},
		"of one":   {corporateProxy(urlSource("", "http://q:2", "corporate-proxy")), map[string]string{"username": "me", "password": "new", "previousUsername": "me", "previousPassword": "old"}, "", "http://me:old@q:2"},
	} {
		got, err := inputs.Installation(test.proxy, getter("corporate-proxy", test.data))
		if err != nil || got.Previous.HTTP.Reveal() != test.http || got.Previous.HTTPS.Reveal() != test.https {
			t.Errorf("%s: %q, %q (%v)", name, got.Previous.HTTP.Reveal(), got.Previous.HTTPS.Reveal(), err)
		}
	}
}

func TestCredentialsOfBeforeThatNoRelayCanUseAreRefusedWithoutBeingShown(t *testing.T) {
	const object = "Secret corporate-proxy"
	values := func(key, previous string) map[string]string {
		return map[string]string{"http": "http://me:new@p:1", "https": "http://me:new@p:1", key: previous}
	}
	login := func(username, password string) map[string]string {
		return map[string]string{"username": "me", "password": "new", "previousUsername": username, "previousPassword": password}
	}
	for name, test := range map[string]struct {
		url         bool
		data        map[string]string
		field, want string
	}{
		"another host":         {false, values("httpPrevious", "http://me:S3CRET@q:1"), "data.httpPrevious", "another proxy"},
		"another port":         {false, values("httpsPrevious", "http://me:S3CRET@p:2"), "data.httpsPrevious", "another proxy"},
		"another scheme":       {false, values("httpsPrevious", "https://me:S3CRET@p:1"), "data.httpsPrevious", "another proxy"},
		"no proxy of now":      {false, map[string]string{"http": "http://p:1", "httpsPrevious": "http://me:S3CRET@p:1"}, "data.httpsPrevious", "another proxy"},
		"no credentials":       {false, values("httpsPrevious", "http://p:1"), "data.httpsPrevious", "no user information"},
		"no port":              {false, values("httpPrevious", "http://me:S3CRET@p"), "data.httpPrevious", "port is missing"},
		"a bad password":       {false, values("httpPrevious", "http://me:S3%CRET@p:1"), "data.httpPrevious", "starts no percent-encoding"},
		"no username":          {true, login("", "S3CRET"), "data.previousUsername, data.previousPassword", "no username"},
		"a control character":  {true, login("me", "S3CRET\nx"), "data.previousUsername, data.previousPassword", "control character"},
		"a colon in the login": {true, login("S3CRET:x", "y"), "data.previousUsername, data.previousPassword", "colon"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := corporateProxy(valuesRef())
			if test.url {
				proxy = corporateProxy(urlSource("http://p:1", "http://p:1", "corporate-proxy"))
			}
			_, err := inputs.Installation(proxy, getter("corporate-proxy", test.data))
			if detail := problem(t, err, resolve.ReasonInvalidProxy, object, test.field); !strings.Contains(detail, test.want) {
				t.Errorf("%s, want %q", detail, test.want)
			}
		})
	}
}

// An API server that does not answer is no fault of the CorporateProxy.
func TestAnErrorOfTheGetterIsPassedOn(t *testing.T) {
	broken := errors.New("no answer")
	for name, source := range map[string]v1alpha1.ProxySource{"valuesRef": valuesRef(), "url": urlSource("http://p:1", "", "login")} {
		t.Run(name, func(t *testing.T) {
			_, err := inputs.Installation(corporateProxy(source), func(inputs.Reference) (map[string][]byte, error) { return nil, broken })
			var p *resolve.Problem
			if !errors.Is(err, broken) || errors.As(err, &p) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheDelegationHasTheDefaultsOfTheCRD(t *testing.T) {
	for name, test := range map[string]struct {
		written v1alpha1.Delegation
		want    resolve.Delegation
	}{
		"nothing written": {v1alpha1.Delegation{}, resolve.Delegation{NoProxy: resolve.GrantNarrow}},
		"everything":      {v1alpha1.Delegation{NoProxy: "Any", Direct: "Allowed"}, resolve.Delegation{NoProxy: resolve.GrantAny, Direct: true}},
		"nothing":         {v1alpha1.Delegation{NoProxy: "Forbidden", Direct: "Forbidden"}, resolve.Delegation{NoProxy: resolve.GrantForbidden}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := corporateProxy(urlSource("http://p:1", "", ""))
			proxy.Spec.Delegation, proxy.Spec.Form = test.written, "Exact"
			got, err := inputs.Installation(proxy, nil)
			if err != nil || got.Delegation != test.want || got.Form != resolve.FormExact {
				t.Errorf("%+v, form %q (%v)", got.Delegation, got.Form, err)
			}
		})
	}
}

func TestTheObjectsOfAProxyAreThoseItNames(t *testing.T) {
	secret := func(name string) inputs.Reference { return inputs.Reference{Kind: inputs.KindSecret, Name: name} }
	ca := func(ref v1alpha1.CertificateReference) *v1alpha1.CorporateProxy {
		proxy := corporateProxy(valuesRef())
		proxy.Spec.TrustedCARef = &ref
		return proxy
	}
	for name, test := range map[string]struct {
		proxy *v1alpha1.CorporateProxy
		want  []inputs.Reference
	}{
		"values":              {corporateProxy(valuesRef()), []inputs.Reference{secret("corporate-proxy")}},
		"credentials":         {corporateProxy(urlSource("http://p:1", "", "login")), []inputs.Reference{secret("login")}},
		"nothing":             {corporateProxy(urlSource("http://p:1", "", "")), nil},
		"a CA":                {ca(v1alpha1.CertificateReference{Name: "ca"}), []inputs.Reference{secret("corporate-proxy"), {Kind: inputs.KindConfigMap, Name: "ca"}}},
		"a CA in a ConfigMap": {ca(v1alpha1.CertificateReference{Kind: "ConfigMap", Name: "ca"}), []inputs.Reference{secret("corporate-proxy"), {Kind: inputs.KindConfigMap, Name: "ca"}}},
		"a CA in a Secret":    {ca(v1alpha1.CertificateReference{Kind: "Secret", Name: "ca"}), []inputs.Reference{secret("corporate-proxy"), secret("ca")}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, inputs.References(test.proxy)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
