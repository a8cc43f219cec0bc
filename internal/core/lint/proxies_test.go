package lint_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// proxies are forms of a proxy's URL that are well-formed.
var proxies = []string{
	"http://proxy.example:3128", "http://proxy.example:3128/", "http://proxy.example", "http://proxy.example.:3128",
	"http://10.1.2.3:3128", "http://[fd00::1]:3128",
	"http://me:pw@proxy.example:3128", "http://me:p%40ss@proxy.example:3128", "http://me:p%C3%A9@proxy.example:3128",
	"http://me:a+b@proxy.example:3128", "http://me:p%E2%82%AC@proxy.example:3128", "http://DOM%5Cme:a:b%25%20@proxy.example:3128",
	"http://me@proxy.example:3128", "http://me:@proxy.example:3128",
	"https://proxy.example:3129", "https://proxy.example", "https://me:pw@proxy.example:3129",
	"proxy.example:3128", "proxy.example", "proxy:3128", "10.1.2.3:3128", "10.1.2.3", "[fd00::1]:3128", "me:pw@proxy.example:3128",
	"socks://proxy.example:1080", "socks4://proxy.example:1080", "socks4a://me:pw@proxy.example",
	"socks5://proxy.example", "socks5h://me:p%40ss@proxy.example:1080",
}

// What lint says of a proxy's URL, and what each client does with it, is in
// testdata/proxies.txt. UPDATE=1 writes it.
func TestWhatClientsDoWithTheURLOfAProxy(t *testing.T) {
	var got strings.Builder
	for _, text := range proxies {
		if u, err := proxyurl.Parse(text); err == nil {
			for _, f := range lint.Run(lint.Input{HTTP: u, HTTPS: u}) {
				if f.Code == lint.HTTPSProxy || f.Code == lint.PasswordEncoding {
					fmt.Fprintf(&got, "%s %s: %s\n", text, f.Code, strings.Join(f.Clients, ", "))
				}
			}
		}
		urls := []string{"http://any.example/", "https://any.example/"}
		if strings.HasPrefix(text, "socks") {
			urls = append(urls, "http://192.0.2.1/")
		}
		for _, url := range urls {
			fmt.Fprintf(&got, "%s for %s\n%s", text, url, answers(t, text, url))
		}
	}
	const file = "testdata/proxies.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("%s, line %d: now %q (UPDATE=1 to accept)", file, i+1, line)
		}
	}
}

// answers returns the clients by what they do, with the versions that do.
func answers(t *testing.T, proxy, url string) string {
	t.Helper()
	target, err := dialect.ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	env := dialect.Uniform(proxy, proxy, "", "")
	clients := map[string][]string{}
	for _, client := range dialect.Clients() {
		var all []string
		for _, choice := range client.Choices() {
			all = append(all, answer(choice.Read(env)(target)))
		}
		first := 0
		for i := range all {
			if i+1 == len(all) || all[i+1] != all[i] {
				clients[all[i]] = append(clients[all[i]], client.Between(first, i))
				first = i + 1
			}
		}
	}
	var lines []string
	for answer, names := range clients {
		lines = append(lines, "  "+answer+": "+strings.Join(names, ", ")+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// answer returns where a client goes, how, and with which credential.
func answer(d dialect.Decision) string {
	switch {
	case d.Route != dialect.Proxy:
		return d.Route.String() + ": " + d.Reason
	case d.Hop.Auth.IsZero():
		return d.Hop.Address + " " + string(d.Hop.Protocol)
	}
	return fmt.Sprintf("%s %s %+q", d.Hop.Address, d.Hop.Protocol, d.Hop.Auth.Bytes())
}

// What Fairlead takes for a proxy's URL is judged.
func TestEveryURLOfAProxyThatFairleadTakesIsJudged(t *testing.T) {
	target, err := dialect.ParseTarget("http://any.example/")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"http://proxy:1", "HTTPS://Proxy.Example.:65535/", "http://10.1.2.3:80", "http://[FD00:0::1]:3128", "http://my_proxy-1.x-y.example:3128", "http://1proxy.2x:1",
		"http://me@proxy:1", "http://me:@proxy:1", "http://D%5Cm~.-_!$&'()*+,;=e:a:b%c3%A9!$&'()*+,;=~@proxy:1", "http://xn--bcher-kva.example:1",
	} {
		u, err := proxyurl.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, name := range []string{"go", "curl", "java", "python-requests"} {
			client, err := dialect.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			if d := client.Newest().Read(dialect.Uniform(u.Reveal(), "", "", ""))(target); d.Route != dialect.Proxy {
				t.Errorf("%s: %s: %s (%s)", name, text, d.Route, d.Reason)
			}
		}
	}
}
