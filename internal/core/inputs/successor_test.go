package inputs_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// secrets are these, by name.
func secrets(all map[string]map[string]string) inputs.DataGetter {
	objectsOf := map[inputs.Reference]map[string][]byte{}
	for name, texts := range all {
		data := map[string][]byte{}
		for key, text := range texts {
			data[key] = []byte(text)
		}
		objectsOf[inputs.Reference{Kind: inputs.KindSecret, Name: name}] = data
	}
	return objects(objectsOf)
}

// succeeding has the Secrets old and next, of the kind of source.
func succeeding(url bool, next string) *v1alpha1.CorporateProxy {
	ref := &v1alpha1.SecretReference{Name: "old", Next: &v1alpha1.SuccessorReference{Name: next}}
	if url {
		source := urlSource("http://p:1", "http://q:2", "")
		source.URL.CredentialsRef = ref
		return corporateProxy(source)
	}
	return corporateProxy(v1alpha1.ProxySource{ValuesRef: ref})
}

type keys = map[string]string

func TestASuccessorIsCurrentAndTheOneBeforePrevious(t *testing.T) {
	for name, test := range map[string]struct {
		url       bool
		old, next keys
		want      string // http, https, previous ones, noProxy
	}{
		"URLs":                         {false, keys{"http": "http://a:1@p:1", "https": "http://b:1@q:2"}, keys{"http": "http://a:2@p:1", "https": "http://b:2@q:2/"}, "http://a:2@p:1 http://b:2@q:2 http://a:1@p:1 http://b:1@q:2 -"},
		"one URL":                      {false, keys{"https": "http://b:1@q:2"}, keys{"https": "http://b:2@q:2"}, "- http://b:2@q:2 - http://b:1@q:2 -"},
		"no user information before":   {false, keys{"http": "http://p:1"}, keys{"http": "http://a:2@p:1"}, "http://a:2@p:1 - - - -"},
		"none, and another proxy":      {false, keys{"http": "http://x:1"}, keys{"http": "http://a:2@p:1"}, "http://a:2@p:1 - - - -"},
		"no user information any more": {false, keys{"http": "http://a:1@p:1"}, keys{"http": "http://p:1"}, "http://p:1 - http://a:1@p:1 - -"},
		"nothing before":               {false, keys{}, keys{"http": "http://a:2@p:1"}, "http://a:2@p:1 - - - -"},
		"the list of before":           {false, keys{"http": "http://a:1@p:1", "noProxy": "x,y"}, keys{"http": "http://a:2@p:1"}, "http://a:2@p:1 - http://a:1@p:1 - x,y"},
		"a list of its own":            {false, keys{"http": "http://a:1@p:1", "noProxy": "x,y"}, keys{"http": "http://a:2@p:1", "noProxy": "z"}, "http://a:2@p:1 - http://a:1@p:1 - z"},
		"an empty list of its own":     {false, keys{"http": "http://a:1@p:1", "noProxy": "x,y"}, keys{"http": "http://a:2@p:1", "noProxy": ""}, "http://a:2@p:1 - http://a:1@p:1 - -"},
		"previous keys are for nobody": {false, keys{"http": "http://a:1@p:1", "httpPrevious": "?"}, keys{"http": "http://a:2@p:1", "httpPrevious": "?"}, "http://a:2@p:1 - http://a:1@p:1 - -"},
		"a login":                      {true, keys{"username": "a", "password": "1"}, keys{"username": "b", "password": "2\n"}, "http://b:2@p:1 http://b:2@q:2 http://a:1@p:1 http://a:1@q:2 -"},
		"no login before":              {true, keys{"username": "", "password": ""}, keys{"username": "b", "password": "2"}, "http://b:2@p:1 http://b:2@q:2 - - -"},
		"no login any more":            {true, keys{"username": "a", "password": "1"}, keys{"username": "", "password": ""}, "http://p:1 http://q:2 http://a:1@p:1 http://a:1@q:2 -"},
		"a login's previous keys":      {true, keys{"username": "a", "password": "1", "previousUsername": ":"}, keys{"username": "b", "password": "2", "previousUsername": ":"}, "http://b:2@p:1 http://b:2@q:2 http://a:1@p:1 http://a:1@q:2 -"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Installation(succeeding(test.url, "next"), secrets(map[string]map[string]string{"old": test.old, "next": test.next}))
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, text := range []string{got.HTTP.Reveal(), got.HTTPS.Reveal(), got.Previous.HTTP.Reveal(), got.Previous.HTTPS.Reveal(), got.NoProxy.String()} {
				if text == "" {
					text = "-"
				}
				texts = append(texts, text)
			}
			if shown := strings.Join(texts, " "); shown != test.want {
				t.Errorf("%s, want %s", shown, test.want)
			}
		})
	}
}

func TestASuccessorThatCannotSucceedIsToldWhyByTheRightSecret(t *testing.T) {
	const proxy, old, next = "CorporateProxy default", "Secret old", "Secret next"
	invalid, missing := resolve.ReasonInvalidProxy, resolve.ReasonSourceMissing
	values := keys{"http": "http://a:S3CRET@p:1"}
	login := keys{"username": "a", "password": "S3CRET"}
	for name, test := range map[string]struct {
		url           bool
		secrets       map[string]map[string]string
		name          string
		reason        resolve.Reason
		object, field string
		want          string
	}{
		"no successor":             {false, map[string]map[string]string{"old": values}, "next", missing, proxy, "spec.source.valuesRef.next", `Secret "next" does not exist`},
		"nobody to succeed":        {false, map[string]map[string]string{"next": values}, "next", missing, proxy, "spec.source.valuesRef", `Secret "old" does not exist`},
		"itself":                   {false, map[string]map[string]string{"old": values}, "old", invalid, proxy, "spec.source.valuesRef.next.name", "is the same Secret as name"},
		"an empty successor":       {false, map[string]map[string]string{"old": values, "next": {}}, "next", invalid, next, "data.http, data.https", "both proxy URLs are empty"},
		"a bad successor":          {false, map[string]map[string]string{"old": values, "next": {"http": "http://a:S3CRET@p"}}, "next", invalid, next, "data.http", "port is missing"},
		"a bad one before":         {false, map[string]map[string]string{"old": {"http": "http://a:S3CRET@p"}, "next": values}, "next", invalid, old, "data.http", "port is missing"},
		"of another host":          {false, map[string]map[string]string{"old": {"http": "http://a:S3CRET@x:1"}, "next": values}, "next", invalid, old, "data.http", "is for another proxy than the same key of Secret next"},
		"of another port":          {false, map[string]map[string]string{"old": {"http": "http://a:S3CRET@p:2"}, "next": values}, "next", invalid, old, "data.http", "another proxy"},
		"of another scheme":        {false, map[string]map[string]string{"old": {"http": "https://a:S3CRET@p:1"}, "next": values}, "next", invalid, old, "data.http", "another proxy"},
		"of a protocol less":       {false, map[string]map[string]string{"old": {"https": "http://a:S3CRET@p:1"}, "next": values}, "next", invalid, old, "data.https", "another proxy"},
		"a bad list of before":     {false, map[string]map[string]string{"old": {"http": "http://a:S3CRET@p:1", "noProxy": "10.*"}, "next": values}, "next", invalid, old, "data.noProxy[0]", "wildcard"},
		"a bad list of its own":    {false, map[string]map[string]string{"old": values, "next": {"http": "http://a:S3CRET@p:1", "noProxy": "x,10.*"}}, "next", invalid, next, "data.noProxy[1]", "wildcard"},
		"no login to succeed":      {true, map[string]map[string]string{"old": login}, "next", missing, proxy, "spec.source.url.credentialsRef.next", `Secret "next" does not exist`},
		"no login before":          {true, map[string]map[string]string{"next": login}, "next", missing, proxy, "spec.source.url.credentialsRef", `Secret "old" does not exist`},
		"a login that is itself":   {true, map[string]map[string]string{"old": login}, "old", invalid, proxy, "spec.source.url.credentialsRef.next.name", "is the same Secret as name"},
		"no username":              {true, map[string]map[string]string{"old": login, "next": {"password": "S3CRET"}}, "next", missing, next, "data.username", "the key is missing"},
		"no password":              {true, map[string]map[string]string{"old": login, "next": {"username": "S3CRET"}}, "next", missing, next, "data.password", "the key is missing"},
		"no username before":       {true, map[string]map[string]string{"old": {"password": "S3CRET"}, "next": login}, "next", missing, old, "data.username", "the key is missing"},
		"no password before":       {true, map[string]map[string]string{"old": {"username": "S3CRET"}, "next": login}, "next", missing, old, "data.password", "the key is missing"},
		"a bad login":              {true, map[string]map[string]string{"old": login, "next": {"username": "me", "password": "S3CRET\nx"}}, "next", invalid, next, "data", "control character"},
		"a bad login before":       {true, map[string]map[string]string{"old": {"username": "me", "password": "S3CRET\nx"}, "next": login}, "next", invalid, old, "data.username, data.password", "control character"},
		"an empty username before": {true, map[string]map[string]string{"old": {"username": "", "password": "S3CRET"}, "next": login}, "next", invalid, old, "data.username, data.password", "no username"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inputs.Installation(succeeding(test.url, test.name), secrets(test.secrets))
			if detail := problem(t, err, test.reason, test.object, test.field); !strings.Contains(detail, test.want) {
				t.Errorf("%s, want %q", detail, test.want)
			}
		})
	}
}

func TestEntriesOfASuccessorNameTheSecretThatHasThem(t *testing.T) {
	all := map[string]map[string]string{"old": {"http": "http://p:1", "noProxy": "x"}, "next": {"http": "http://p:1"}}
	for _, want := range []string{"Secret old", "Secret next"} {
		got, err := inputs.Installation(succeeding(false, "next"), secrets(all))
		if err != nil || len(got.NoProxy) != 1 || got.NoProxy[0].Sources[0].Object != want {
			t.Errorf("%v: %+v, want %s", err, got.NoProxy, want)
		}
		all["next"]["noProxy"] = "x"
	}
}

func TestTheKeysOfAnObjectAreThoseThatAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		proxy *v1alpha1.CorporateProxy
		want  map[string]int
	}{
		"values":                  {corporateProxy(valuesRef()), map[string]int{"source": 5}},
		"values and a successor":  {succeeding(false, "next"), map[string]int{"source": 3, "next": 3}},
		"a login":                 {corporateProxy(urlSource("http://p:1", "", "login")), map[string]int{"source": 4}},
		"a login and a successor": {succeeding(true, "next"), map[string]int{"source": 2, "next": 2}},
		"certificates":            {withCA(v1alpha1.CertificateReference{Name: "ca"}), map[string]int{"trustedCA": 1}},
	} {
		got := map[string]int{}
		for _, named := range inputs.Named(test.proxy) {
			got[named.Role] = len(named.Keys)
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: %v", name, got)
		}
		for role, keys := range test.want {
			if got[role] != keys {
				t.Errorf("%s: %v, want %v", name, got, test.want)
			}
		}
	}
}
