package lint

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func proxy(in Input) []Finding {
	var findings []Finding
	for _, u := range slices.CompactFunc([]proxyurl.URL{in.HTTP, in.HTTPS}, proxyurl.URL.Equal) {
		if u.IsZero() {
			continue
		}
		findings = append(findings, proxyListed(in, u)...)
		if u.Scheme() == "https" {
			findings = append(findings, httpsProxy(u))
		}
		findings = append(findings, password(u)...)
		if u.IsExpanded() && !in.Form.Literal() {
			findings = append(findings, expanded(u))
		}
	}
	if in.HTTP.IsZero() != in.HTTPS.IsZero() {
		findings = append(findings, oneProxy(in))
	}
	return findings
}

// proxyListed is about entries that cover the proxy. Clients dial a proxy without asking the list about it, so that one for a
// whole network or domain is right to stay; one for the proxy alone is for nothing.
func proxyListed(in Input, u proxyurl.URL) []Finding {
	host := u.WithoutFinalDot().Host()
	alone, err := noproxy.HostEntry(host)
	if !covers(dialect.CompileGo(in.Any), host) || err != nil {
		return nil
	}
	finding := Finding{
		Code: ProxyListed, Severity: Info, Why: fmt.Sprintf("the list covers the proxy's own host %s: clients dial it all the same", u.Host()),
		Mend: "keep the entry if it is for other hosts, too",
	}
	for _, item := range in.Entries {
		if e := item.Entry; e.Name == alone.Name && e.Prefix == alone.Prefix && e.Kind != noproxy.Subdomains && e.Kind != noproxy.All {
			finding.Severity, finding.Entries, finding.Mend = Warning, []Entry{entryOf(item)}, "remove it: no request is for the proxy itself"
		}
	}
	return []Finding{finding}
}

func httpsProxy(u proxyurl.URL) Finding {
	return Finding{
		Code: HTTPSProxy, Severity: Warning, Mend: "offer the proxy over http:// as well, or accept that these clients do not reach it",
		Why:     fmt.Sprintf("%s wants TLS to the proxy itself; these clients fail, go direct, or talk plain HTTP to it", u),
		Clients: clientsThat(func(d dialect.Decision) bool { return d.Route != dialect.Proxy || d.Hop.Protocol != dialect.TLS }, "https://proxy.example:3129"),
	}
}

// password asks every client what it makes of credentials of that kind. It does
// not use the real ones.
func password(u proxyurl.URL) []Finding {
	var findings []Finding
	for _, kind := range []struct {
		has          bool
		sample, sent string
		why          string
	}{
		{u.HasEncoded(), "me:p%40ss", "me:p@ss", "has characters that stand percent-encoded in the URL"},
		{u.HasNonASCII(), "me:p%C3%A9", "me:pé", "has characters outside ASCII"},
		{u.HasPlus(), "me:a+b", "me:a+b", "has a plus sign, which may be read as a blank"},
	} {
		if !kind.has {
			continue
		}
		clients := clientsThat(func(d dialect.Decision) bool {
			return d.Route != dialect.Proxy || !d.Hop.Auth.IsZero() && d.Hop.Auth.Bytes() != kind.sent
		}, "http://"+kind.sample+"@proxy.example:3128")
		findings = append(findings, Finding{
			Code: PasswordEncoding, Severity: Warning, Clients: clients,
			Why:  fmt.Sprintf("the user name or password of %s %s; these clients send other bytes, or do not use the proxy", u, kind.why),
			Mend: "choose a password of letters, digits and - . _ ~",
		})
	}
	return findings
}

// clientsThat names the clients that do something with a proxy for https URLs,
// and for http ones where they have no other.
func clientsThat(deviates func(dialect.Decision) bool, proxy string) []string {
	clients := affected{}
	env := dialect.Uniform(proxy, proxy, "", "")
	target, _ := dialect.ParseTarget("http://any.example/")
	for _, choice := range choices() {
		if deviates(choice.Read(env)(target)) {
			clients.add(choice)
		}
	}
	return clients.names()
}

// expanded is about charts and addons, which put the URL into variables of pods.
func expanded(u proxyurl.URL) Finding {
	return Finding{
		Code: PasswordExpanded, Severity: Warning,
		Why:  fmt.Sprintf("the user name or password of %s has $$ or $(NAME), which kubelet replaces where a chart takes the Helm values into a variable of a pod", u),
		Mend: "write %24 for $, or form Portable/v2 or later, which does it in the values",
	}
}

func oneProxy(in Input) Finding {
	set, unset := "http", "https"
	if in.HTTP.IsZero() {
		set, unset = unset, set
	}
	return Finding{
		Code: OneProxy, Severity: Warning, Mend: "set both, to the same proxy if there is only one",
		Why: fmt.Sprintf("only the %s proxy is set: Go, curl and others reach %s URLs without it, Ruby and apt with it", set, unset),
	}
}

func certificates(in Input) []Finding {
	if in.Now == 0 {
		return nil
	}
	var findings []Finding
	for _, c := range in.Certificates {
		finding := Finding{Code: Certificate, Severity: Warning, Why: c.Says(c.At(in.Now))}
		switch c.At(in.Now) {
		case cabundle.Expired:
			finding.Severity, finding.Mend = Error, "take it out; put its successor in, if there is one"
		case cabundle.ExpiresSoon:
			finding.Mend = "add its successor beside it"
		case cabundle.NotYetValid:
			finding.Mend = "keep the certificate that it replaces until then"
		case cabundle.Valid:
			continue
		}
		findings = append(findings, finding)
	}
	return findings
}
