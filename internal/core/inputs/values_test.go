package inputs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

const exampleURL = "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"

// problem expects a Problem that shows no password, and returns its detail.
func problem(t *testing.T, err error, reason resolve.Reason, object, field string) string {
	t.Helper()
	var p *resolve.Problem
	if !errors.As(err, &p) {
		t.Fatalf("expected a Problem, got %v", err)
	}
	if p.Reason != reason || p.Object != object || p.Field != field {
		t.Errorf("%s of %q, field %q: %s", p.Reason, p.Object, p.Field, p)
	}
	for _, text := range append(p.Refusals, p.Error()) {
		if strings.Contains(text, "S3CRET") || strings.Contains(text, "mySuperSecret") {
			t.Errorf("shows a password: %s", text)
		}
	}
	return p.Detail
}

func TestTheConfigRepositorysPatchIsRead(t *testing.T) {
	const list = "172.16.0.0/16,internal.corpdomain.net,example.com"
	for name, test := range map[string]struct{ text, http, https, noProxy string }{
		"the published example": {
			"proxy:\n  noProxy: \"172.16.0.0/16,internal.corpdomain.net,example.com\"\n  http: \"" + exampleURL + "\"\n  https: \"" + exampleURL + "\"\n",
			exampleURL, exampleURL, list,
		},
		"a list":                       {"proxy: {https: 'http://p:1', noProxy: [172.16.0.0/16, internal.corpdomain.net, example.com]}", "", "http://p:1", list},
		"a list over several lines":    {"proxy:\n  http: http://p:1\n  noProxy: |\n    172.16.0.0/16,\n    internal.corpdomain.net,\n    example.com\n", "http://p:1", "", list},
		"JSON":                         {`{"proxy": {"http": "http://p:1", "noProxy": "a"}}`, "http://p:1", "", "a"},
		"no list":                      {"proxy: {http: 'http://p:1'}", "http://p:1", "", ""},
		"null, as an empty value":      {"proxy: {http: 'http://p:1', https: null, noProxy: ~}", "http://p:1", "", ""},
		"an empty https":               {"proxy: {http: 'http://p:1', https: '', noProxy: []}", "http://p:1", "", ""},
		"separators around it":         {"# values\n---\n# of acme\nproxy: {http: 'http://p:1'}\n---\n", "http://p:1", "", ""},
		"somebody else's values":       {"other: {password: x}\nproxy: {http: 'http://p:1'}\nmore: [1]", "http://p:1", "", ""},
		"a slash and a newline behind": {"proxy:\n  http: |\n    http://p:1/\n", "http://p:1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Values("values.yaml", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got.HTTP.Reveal() != test.http || got.HTTPS.Reveal() != test.https || got.NoProxy.String() != test.noProxy {
				t.Errorf("got %q, %q, %q", got.HTTP.Reveal(), got.HTTPS.Reveal(), got.NoProxy)
			}
			if got.Name != "values.yaml" || got.Form != "" || got.Delegation != (resolve.Delegation{NoProxy: resolve.GrantNarrow}) {
				t.Errorf("got %q, form %q, %+v", got.Name, got.Form, got.Delegation)
			}
		})
	}
}

func TestThePatchMayHaveTheCredentialsOfBefore(t *testing.T) {
	got, err := inputs.Values("values.yaml", []byte("proxy: {http: 'http://me:new@p:1', https: 'http://me:new@p:1', previous: {https: 'http://me:old@p:1'}}"))
	if err != nil || !got.Previous.HTTP.IsZero() || got.Previous.HTTPS.Reveal() != "http://me:old@p:1" {
		t.Errorf("%q, %q (%v)", got.Previous.HTTP.Reveal(), got.Previous.HTTPS.Reveal(), err)
	}
}

func TestEveryEntryOfThePatchNamesItsPlace(t *testing.T) {
	for name, text := range map[string]string{
		"a string": "proxy: {http: 'http://p:1', noProxy: 'a, b'}",
		"a list":   "proxy: {http: 'http://p:1', noProxy: [a, b]}",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Values("values.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			want := noproxy.Source{Layer: noproxy.LayerInstallation, Object: "values.yaml", Field: "proxy.noProxy[1]"}
			if len(got.NoProxy) != 2 || got.NoProxy[1].Sources[0] != want {
				t.Errorf("got %+v", got.NoProxy)
			}
		})
	}
}

func TestAPatchThatIsWrongIsToldWhereWithoutBeingShown(t *testing.T) {
	for name, test := range map[string]struct{ text, field, want string }{
		"nothing":                       {"", "proxy", "the key is missing"},
		"no proxy":                      {"http: http://me:S3CRET@p:1", "proxy", "the key is missing"},
		"a list at the top":             {"- http://me:S3CRET@p:1", "", "not valid YAML, or not a map"},
		"a string at the top":           {"http://me:S3CRET@p:1", "", "not valid YAML, or not a map"},
		"broken YAML":                   {"proxy:\n  http: \"http://me:S3CRET@p:1\n", "", "not valid YAML"},
		"broken YAML in another way":    {"proxy:\n\thttp: http://me:S3CRET@p:1\n", "", "not valid YAML"},
		"a colon without a blank":       {"proxy:\n  http:http://me:S3CRET@p:1\n  https: x\n", "", "not valid YAML"},
		"the same, alone":               {"proxy:\n  http:http://me:S3CRET@p:1\n", "proxy", "is not a map"},
		"the same, between braces":      {"proxy: {http:http://me:S3CRET@p:1}", "proxy", "unknown key"},
		"a key that starts with an at":  {"proxy: {@S3CRET}", "", "not valid YAML"},
		"an unknown key":                {"proxy: {http: 'http://p:1', no_proxy: a}", "proxy", "unknown key: expected http, https, noProxy and previous"},
		"another case":                  {"proxy: {HTTP: 'http://me:S3CRET@p:1'}", "proxy", "unknown key"},
		"a proxy that is a list":        {"proxy: ['http://me:S3CRET@p:1']", "proxy", "is not a map"},
		"a URL that is a map":           {"proxy: {http: {S3CRET: 1}}", "proxy.http", "is not a string"},
		"a URL that is a number":        {"proxy: {https: 3128}", "proxy.https", "is not a string"},
		"a list that is a map":          {"proxy: {http: 'http://p:1', noProxy: {a: 1}}", "proxy.noProxy", "neither a string nor a list of strings"},
		"a list of numbers":             {"proxy: {http: 'http://p:1', noProxy: [1]}", "proxy.noProxy", "neither a string nor a list of strings"},
		"both URLs empty":               {"proxy: {http: '', noProxy: a}", "proxy.http, proxy.https", "both proxy URLs are empty"},
		"no port":                       {"proxy: {http: 'http://me:S3CRET@p'}", "proxy.http", "the port is missing"},
		"an unknown scheme":             {"proxy: {http: 'http://p:1', https: 'socks5://me:S3CRET@p:1'}", "proxy.https", "not supported"},
		"a bad entry":                   {"proxy: {http: 'http://p:1', noProxy: 'a,10.*'}", "proxy.noProxy[1]", "wildcard"},
		"a bad entry of a list":         {"proxy: {http: 'http://p:1', noProxy: [a, 'a,b']}", "proxy.noProxy[1]", "cannot be part"},
		"an empty entry of a list":      {"proxy: {http: 'http://p:1', noProxy: [a, '']}", "proxy.noProxy[1]", "empty entry"},
		"the URL in the place of NO_..": {"proxy: {http: 'http://p:1', noProxy: 'http://me:S3CRET@p:1'}", "proxy.noProxy[0]", "hidden: a URL"},
		"a previous text":               {"proxy: {http: 'http://p:1', previous: 'http://me:S3CRET@p:1'}", "proxy.previous", "is not a map"},
		"a previous of another proxy":   {"proxy: {http: 'http://p:1', previous: {http: 'http://me:S3CRET@q:1'}}", "proxy.previous.http", "another proxy"},
		"a previous number":             {"proxy: {http: 'http://p:1', previous: {http: 1}}", "proxy.previous", "not a string"},
		"an unknown previous":           {"proxy: {http: 'http://p:1', previous: {password: S3CRET}}", "proxy.previous", "unknown key"},
		"two proxies in the file":       {"proxy: {http: 'http://p:1'}\n---\nproxy: {http: 'http://me:S3CRET@p:2'}", "", "more than one document"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Values("values.yaml", []byte(test.text))
			detail := problem(t, err, resolve.ReasonInvalidProxy, "values.yaml", test.field)
			if !strings.Contains(detail, test.want) {
				t.Errorf("%s (%+v), want %q", detail, got, test.want)
			}
		})
	}
}
