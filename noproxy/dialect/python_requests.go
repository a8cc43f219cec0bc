package dialect

import (
	"cmp"
	"net/netip"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// requests, and with it pip (in a copy of its own), docker-py and az.
//
// Rules: psf/requests src/requests/utils.py (should_bypass_proxies,
// get_environ_proxies, select_proxy), adapters.py and models.py in 2.28.1, 2.32.3
// and 2.34.2; urllib3/urllib3 util/url.py and poolmanager.py in 1.26.12 and 2.3.0.
var pythonRequests = &Client{
	Name:      "python-requests",
	Latest:    "2",
	Aliases:   []string{"requests"},
	AlsoReads: []string{"pip", "docker-py", "Azure CLI"},
	Behaviours: versions{
		{"", "", "psf/requests requests/utils.py, 2.28.1 and 2.32.3", requestsRules(false).read},
		{"2.34.0", "an entry matches whole labels only: gle.com no longer covers google.com (psf/requests#7427)", "psf/requests src/requests/utils.py, 2.34.2", requestsRules(true).read},
	}.behaviours(),
}

// requestsRules: whether an entry matches whole labels only.
type requestsRules bool

// read asks a list of its own first, and then the list of urllib.
func (r requestsRules) read(env Env) Decider {
	vars := pythonGetproxies(env)
	proxies := map[string]proxy{}
	for _, scheme := range []string{"http", "https"} {
		proxies[scheme] = vars.proxy(env, func(v variable) proxy { return requestsURL.read(v, scheme) }, scheme, "all")
	}
	own := rules{cut: commas(blank), entry: r.entry, covers: r.covers}.readList(env.nonEmpty("no_proxy", "NO_PROXY"))
	return rules{host: requestsHost, listFirst: true}.decider(proxies, own, urllibRules{}.list(vars["no"]))
}

// requestsHost returns the host of a URL after prepare_url and urlparse: an IPv6 address
// without brackets, other names in lower case and as A-labels.
func requestsHost(t Target) (host, string) {
	name, port := strings.ToLower(t.Host), t.Port
	if !t.Bracketed {
		var cut, ok bool
		if name, _, cut = strings.Cut(t.Host, `\`); cut { // a backslash ends the authority
			port = ""
		}
		if !urllib3Name.MatchString(name) || strings.HasPrefix(name, "*") || strings.HasPrefix(name, ".") {
			return host{}, unsendableHost
		}
		if name, ok = urllib3NormalizeHost(name); !ok || name == "" {
			return host{}, unsendableHost
		}
		name, port = strings.ToLower(requoteURI(name)), strings.TrimLeft(port, "0")
	}
	h := host{name: name, withPort: name, proxyOnly: hasPercent(name)}
	if port != "" {
		h.withPort += ":" + port
	}
	h.addr, _ = inetAton(name)
	return h, ""
}

// requoteURI decodes what need not be encoded and encodes what must be.
func requoteURI(text string) string {
	var quoted strings.Builder
	for i := 0; i < len(text); i++ {
		c, encoded := percent.Byte(text, i)
		switch {
		case encoded && percent.Unreserved(c):
			quoted.WriteByte(c)
			i += 2
		case percent.Unreserved(text[i]), strings.IndexByte("!#$%&'()*+,/:;=?@[]", text[i]) >= 0:
			quoted.WriteByte(text[i])
		default:
			quoted.WriteString(percent.Escape(text[i]))
		}
	}
	return quoted.String()
}

func (r requestsRules) entry(text string) (entry, bool) {
	e := entry{text: strings.ReplaceAll(text, " ", "")}
	e.network, _ = requestsCIDR(e.text)
	return e, true
}

// covers is the part of should_bypass_proxies before it asks urllib. Case counts:
// the host is in lower case here. (urllib, which is asked next, folds it.) A
// network covers IPv4 addresses only.
func (r requestsRules) covers(e *entry, h host) string {
	name, how := e.text, ends
	if r {
		name, how = strings.TrimLeft(e.text, "."), below
	}
	switch {
	case h.addr.IsValid() && e.network.IsValid():
		return e.contains(h)
	case h.addr.IsValid() && e.text == h.name:
		return theAddress
	case h.addr.IsValid():
		return ""
	case name == h.name:
		return theName
	case name == h.withPort:
		return samePort
	}
	return cmp.Or(how.covers(name, h.name), how.covers(name, h.withPort))
}

// requestsCIDR is is_valid_cidr: a length from 1 to 32 after an address in any
// way of writing that inet_aton knows.
func requestsCIDR(text string) (netip.Prefix, bool) {
	left, right, ok := strings.Cut(text, "/")
	bits, isNumber := pythonInt(right)
	addr, isAddr := inetAton(left)
	if !ok || !isNumber || !isAddr || bits < 1 || bits > 32 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}

// From urllib3/urllib3 util/url.py.
var urllib3Name = regexp.MustCompile(`^(?s:[^\[\]%:/?#]|%[a-fA-F0-9]{2})*$`)

// requestsURL reads a proxy as requests and urllib3 do: a name without a dot that a colon
// follows passes for a scheme. A credential is sent if there is a user and a colon, in Latin-1
// (get_auth_from_url).
var requestsURL = proxyTraits{
	refuses: func(u *proxyURL, _ string) (p proxy) {
		switch {
		case strings.HasPrefix(u.scheme, "socks"):
			p.failure = needsAddOn
		case u.scheme == "" && isScheme(u.before()) && !strings.Contains(u.before(), "."):
			p.failure = unknownScheme
		}
		return p
	},
	ports: webOr80, schemes: bareOrWeb,
	sends: withPassword, bytes: inLatin1,
}

// urllib3NormalizeHost is _normalize_host for a name or an IPv4 address.
func urllib3NormalizeHost(host string) (string, bool) {
	if isASCII(host) {
		return strings.ToLower(host), true
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if isASCII(label) {
			labels[i] = strings.ToLower(label)
			continue
		}
		encoded, ok := idna2008(strings.ToLower(label))
		if !ok {
			return "", false
		}
		labels[i] = encoded
	}
	return strings.Join(labels, "."), true
}
