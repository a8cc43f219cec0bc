package dialect

import (
	"net/netip"
	"strings"
)

// requests, and with it pip (in a copy of its own), docker-py and az.
//
// Rules: psf/requests src/requests/utils.py (should_bypass_proxies,
// get_environ_proxies, select_proxy), adapters.py and models.py in 2.28.1, 2.32.3
// and 2.34.2; urllib3/urllib3 util/url.py and poolmanager.py in 1.26.12 and 2.3.0.
var pythonRequests = &Client{
	Name:      "python-requests",
	Aliases:   []string{"requests"},
	AlsoReads: []string{"pip", "docker-py", "Azure CLI"},
	Behaviours: []Behaviour{{
		Source: "psf/requests requests/utils.py, 2.28.1 and 2.32.3",
		Read:   func(env Env) Decider { return readRequests(env, false) },
	}, {
		Since:  "2.34.0",
		Change: "an entry matches whole labels only: gle.com no longer covers google.com (psf/requests#7427)",
		Source: "psf/requests src/requests/utils.py, 2.34.2",
		Read:   func(env Env) Decider { return readRequests(env, true) },
	}},
}

func readRequests(env Env, wholeLabels bool) Decider {
	proxies := pythonGetproxies(env)
	own := env.nonEmpty("no_proxy", "NO_PROXY")
	list := compileRequests(own.value, wholeLabels)
	inherited := compileUrllib(proxies["no"].value, urllibRules{})
	all := readRequestsProxy(proxies["all"])
	byScheme, missing := map[string]requestsProxy{}, map[string]Decision{}
	for _, scheme := range []string{"http", "https"} {
		byScheme[scheme] = all
		if v := proxies[scheme]; v.name != "" {
			byScheme[scheme] = readRequestsProxy(v)
		}
		missing[scheme] = proxies.missing(env, scheme, "all")
	}
	return func(t Target) Decision {
		host, port, ok := requestsHost(t)
		if !ok {
			return fails("", unsendableHost)
		}
		if entry, reason, found := list.match(host, port); found {
			return withoutPercent(host, direct(own.name, entry, reason))
		}
		if entry, reason, found := inherited.Match(host); found {
			return withoutPercent(host, direct(proxies["no"].name, entry, reason))
		}
		proxy := byScheme[t.Scheme]
		if proxy.variable == "" {
			return withoutPercent(host, missing[t.Scheme])
		}
		return proxy.decide(t.Scheme)
	}
}

// requestsHost is what prepare_url and urlparse make of the host of a URL: an
// IPv6 address without brackets, other names in lower case and as A-labels.
func requestsHost(t Target) (host, port string, ok bool) {
	if t.Bracketed {
		return strings.ToLower(t.Host), t.Port, true
	}
	host, _, cut := strings.Cut(t.Host, `\`) // a backslash ends the authority
	port = t.Port
	if cut {
		port = ""
	}
	if !urllib3Name.MatchString(host) || strings.HasPrefix(host, "*") || strings.HasPrefix(host, ".") {
		return "", "", false
	}
	if host, ok = urllib3NormalizeHost(host); !ok || host == "" {
		return "", "", false
	}
	return strings.ToLower(requoteURI(host)), strings.TrimLeft(port, "0"), true
}

// requoteURI decodes what need not be encoded and encodes what must be.
func requoteURI(text string) string {
	var quoted strings.Builder
	for i := 0; i < len(text); i++ {
		c, encoded := hexByte(text, i)
		switch {
		case encoded && isUnreserved(c):
			quoted.WriteByte(c)
			i += 2
		case isUnreserved(text[i]), strings.IndexByte("!#$%&'()*+,/:;=?@[]", text[i]) >= 0:
			quoted.WriteByte(text[i])
		default:
			writePercent(&quoted, text[i])
		}
	}
	return quoted.String()
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// requestsList is the part of should_bypass_proxies before it asks urllib.
type requestsList struct {
	entries     []requestsEntry
	wholeLabels bool
}

type requestsEntry struct {
	span    Span
	text    string       // without blanks
	name    string       // without dots in front, where whole labels count
	network netip.Prefix // valid: covers IPv4 addresses only
}

func compileRequests(noProxy string, wholeLabels bool) *requestsList {
	l := &requestsList{wholeLabels: wholeLabels}
	for _, span := range elements(noProxy) {
		text := strings.ReplaceAll(span.Of(noProxy), " ", "")
		if text == "" {
			continue
		}
		entry := requestsEntry{span: span.trimFunc(noProxy, blank), text: text, name: text}
		if wholeLabels {
			entry.name = strings.TrimLeft(text, ".")
		}
		entry.network, _ = requestsCIDR(text)
		l.entries = append(l.entries, entry)
	}
	return l
}

// requestsCIDR is is_valid_cidr: a length from 1 to 32 after an address in any
// way of writing that inet_aton knows.
func requestsCIDR(text string) (netip.Prefix, bool) {
	left, right, found := strings.Cut(text, "/")
	bits, isNumber := pythonInt(right)
	addr, isAddr := inetAton(left)
	if !found || !isNumber || !isAddr || bits < 1 || bits > 32 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}

func (l *requestsList) match(host, port string) (Span, string, bool) {
	if addr, ok := inetAton(host); ok {
		return l.matchAddr(host, addr)
	}
	withPort := host
	if port != "" {
		withPort += ":" + port
	}
	for i := range l.entries {
		if reason := l.entries[i].covers(host, withPort, l.wholeLabels); reason != "" {
			return l.entries[i].span, reason, true
		}
	}
	return Span{}, "", false
}

func (l *requestsList) matchAddr(host string, addr netip.Addr) (Span, string, bool) {
	for i := range l.entries {
		switch entry := &l.entries[i]; {
		case entry.network.IsValid() && entry.network.Contains(addr):
			return entry.span, inNetwork, true
		case !entry.network.IsValid() && entry.text == host:
			return entry.span, theAddress, true
		}
	}
	return Span{}, "", false
}

// covers returns the reason why an entry covers a host, or nothing. Case counts:
// the host is in lower case here. (urllib, which is asked next, folds it.)
func (e *requestsEntry) covers(host, withPort string, wholeLabels bool) string {
	switch {
	case e.name == host:
		return theName
	case e.name == withPort:
		return samePort
	case !wholeLabels && (strings.HasSuffix(host, e.name) || strings.HasSuffix(withPort, e.name)):
		return endsWith
	case wholeLabels && (hasDomain(host, e.name) || hasDomain(withPort, e.name)):
		return belowName
	}
	return ""
}
