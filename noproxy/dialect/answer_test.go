package dialect

import "testing"

// answerCase has the question to a client and its answer: "direct", "fails", or
// the protocol and the address of the proxy with the credential.
type answerCase struct {
	client string // with a version after "@"
	env    Env
	url    string
	want   string
	entry  string // the deciding entry
}

func checkAnswers(t *testing.T, cases map[string]answerCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			decision := answerTo(t, c)
			got := decision.Route.String()
			if decision.Route == Proxy {
				got = string(decision.Hop.Protocol) + " " + decision.Hop.Address + " " + decision.Hop.Auth.Bytes()
			}
			entry := decision.Entry.Of(c.env[decision.Variable])
			if got != c.want || entry != c.entry {
				t.Errorf("%s for %s with %q: %s by %q (%s), want %s by %q", c.client, c.url, c.env, got, entry, decision.Reason, c.want, c.entry)
			}
		})
	}
}

func answerTo(t *testing.T, c answerCase) Decision {
	t.Helper()
	name, version := c.client, ""
	for i := range len(name) {
		if name[i] == '@' {
			name, version = name[:i], name[i+1:]
			break
		}
	}
	client, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	target, err := ParseTarget(c.url)
	if err != nil {
		t.Fatal(err)
	}
	return client.At(version).Read(c.env)(target)
}

// behind is an environment with one proxy and a list.
func behind(noProxy string) Env {
	const proxy = "http://proxy.test:3128"
	return Env{"http_proxy": proxy, "https_proxy": proxy, "no_proxy": noProxy}
}

const (
	throughConnect  = "CONNECT proxy.test:3128 "
	throughAbsolute = "http proxy.test:3128 "
)
