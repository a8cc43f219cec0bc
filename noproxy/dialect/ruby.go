package dialect

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// Ruby's standard library: Net::HTTP, under most gems, and open-uri. Both
// resolve the name before they decide, and go direct to what is loopback.
//
// Rules: ruby/uri lib/uri/generic.rb (find_proxy, use_proxy?), the same from
// Ruby 2.7 to uri 1.1.1; ruby/net-http lib/net/http.rb; ruby/open-uri
// lib/open-uri.rb; lib/ipaddr.rb. Read in Ruby 2.7.4, 3.1.2 and 3.3.8.
var rubyFamily = []*Client{{
	Name:    "ruby-net-http",
	Latest:  "4",
	Aliases: []string{"ruby", "net-http", "Net::HTTP"},
	Behaviours: versions{
		{"", "", "ruby/uri lib/uri/generic.rb, ruby/net-http lib/net/http.rb, Ruby 2.7.4", rubyRules{netHTTP: true, oldIPAddr: true}.read},
		{"3.1", "credentials are decoded, and a plus sign becomes a blank (net-http 0.2); networks are read more strictly", "ruby/uri lib/uri/generic.rb, ruby/net-http lib/net/http.rb, Ruby 3.1.2 and 3.3.8", rubyRules{netHTTP: true, decodes: true}.read},
	}.behaviours(),
}, {
	Name:    "ruby-open-uri",
	Latest:  "4",
	Aliases: []string{"open-uri"},
	Behaviours: versions{
		{"", "", "ruby/uri lib/uri/generic.rb, ruby/open-uri lib/open-uri.rb, Ruby 2.7.4", rubyRules{oldIPAddr: true}.read},
		{"3.1", "networks are read more strictly", "ruby/uri lib/uri/generic.rb, ruby/open-uri lib/open-uri.rb, Ruby 3.1.2 and 3.3.8", rubyRules{}.read},
	}.behaviours(),
}}

// rubyRules has the differences between the two clients and the versions.
type rubyRules struct {
	netHTTP   bool // asks for the proxy of http whatever the scheme of the URL is
	decodes   bool // credentials
	oldIPAddr bool // ipaddr before 1.2.3
}

// read: in a CGI program HTTP_PROXY may be the header of a request, and only
// http_proxy counts.
func (r rubyRules) read(env Env) Decider {
	http, https := "http_proxy HTTP_PROXY", "https_proxy HTTPS_PROXY"
	if _, cgi := env["REQUEST_METHOD"]; cgi {
		http = "http_proxy CGI_HTTP_PROXY"
	}
	if r.netHTTP {
		https = http
	}
	return rules{
		find: Env.set, http: http, https: https, no: "no_proxy NO_PROXY", readProxy: r.url().read,
		host:     rubyHost,
		loopback: func(h host) bool { return h.addr.IsLoopback() && !h.addr.Is4In6() },
		cut:      cutRuby, entry: r.entry, covers: r.covers,
	}.read(env)
}

// rubyHost has the address that IPSocket.getaddress finds, as far as it is known.
func rubyHost(t Target) (host, string) {
	if u, ok := cutRubyURL(t.URL); !ok || u.host == "" {
		return host{}, "the URL is not valid for this client"
	}
	h := host{name: strings.ToLower(t.Host), port: trimZeros(t.EffectivePort())}
	if addrs := t.resolved(); len(addrs) > 0 {
		h.addr = addrs[0]
	} else {
		h.addr, _ = inetAton(t.Host)
	}
	return h, ""
}

// url reads credentials, too: Net::HTTP cuts them at the first colon; open-uri at
// every one, drops empty parts at the end, and needs two.
func (r rubyRules) url() *proxyTraits {
	row := proxyTraits{
		ports:   webPorts,
		schemes: map[string]Protocol{anyScheme: Connect}, unknown: failing,
		sends: withUser, bytes: asWritten,
	}
	if r.decodes {
		row.bytes = rubyUnescape
	}
	if !r.netHTTP {
		row.schemes = map[string]Protocol{"http": Connect}
		row.unknown.failure = "the proxy URL must start with http:// for this client"
		row.sends = func(u proxyURL) (string, bool) {
			password, _, _ := strings.Cut(u.password, ":")
			return u.user + ":" + password, strings.Trim(u.password, ":") != ""
		}
		row.refuses = func(u *proxyURL, _ string) (p proxy) {
			if u.scheme == "" {
				p = failing
			}
			return p
		}
	}
	return &row
}

// rubyUnescape is CGI.unescape.
func rubyUnescape(text string) (string, bool) {
	return percent.Decode(strings.ReplaceAll(text, "+", " ")), true
}

var rubyEntries = regexp.MustCompile(`[^:,\s\v]+(?::[0-9]+)?`)

// cutRuby is the pattern of URI::Generic.use_proxy?: anything but colons, commas
// and white space is an entry, with or without a port. IPv6 addresses and
// networks fall apart at their colons.
func cutRuby(list string) []Span {
	var spans []Span
	for _, at := range rubyEntries.FindAllStringIndex(list, -1) {
		spans = append(spans, Span{at[0], at[1]})
	}
	return spans
}

func (r rubyRules) entry(text string) (entry, bool) {
	name, port, _ := strings.Cut(text, ":")
	e := entry{text: strings.ToLower(name), port: trimZeros(port)}
	e.network, _ = rubyIPAddr(name, r.oldIPAddr)
	e.address = e.network.Bits() == 32
	return e, true
}

// covers: for the old ipaddr an IPv4-mapped address is an IPv4 address.
func (r rubyRules) covers(e *entry, h host) string {
	how := exactly | below
	if e.text[0] == '.' {
		how = dotted
	}
	if reason := how.covers(e.text, h.name); reason != "" {
		return reason
	}
	if r.oldIPAddr {
		h.addr = h.addr.Unmap()
	}
	return e.contains(h)
}

// rubyIPAddr is IPAddr.new for IPv4, the only kind that an entry can hold: a
// length or a netmask may follow.
func rubyIPAddr(text string, old bool) (netip.Prefix, bool) {
	left, mask, ok := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(left)
	if err != nil || !addr.Is4() {
		return netip.Prefix{}, false
	}
	if old { // split drops what follows a second slash, and an empty length
		mask, _, _ = strings.Cut(mask, "/")
		ok = mask != ""
	}
	if !ok {
		return netip.PrefixFrom(addr, 32), true
	}
	if netmask, err := netip.ParseAddr(mask); err == nil && netmask.Is4() {
		return rubyNetmask(addr, netmask)
	}
	bits, err := strconv.ParseUint(mask, 10, 16)
	if err != nil || bits > 32 || !old && len(mask) > 1 && mask[0] == '0' {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, int(bits)).Masked(), true
}

// rubyNetmask makes a prefix of a netmask whose ones are all in front.
func rubyNetmask(addr, netmask netip.Addr) (netip.Prefix, bool) {
	var mask uint32
	for _, b := range netmask.As4() {
		mask = mask<<8 | uint32(b)
	}
	bits := 0
	for mask<<bits>>31 == 1 {
		bits++
	}
	if mask<<bits != 0 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}

// From ruby/uri lib/uri/rfc3986_parser.rb: everything is ASCII, and most odd
// characters must be encoded.
var cutRubyURL = grammar(`^(?:(?P<scheme>[A-Za-z][+\-.0-9A-Za-z]*):)?` +
	`(?://(?:(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=A-Z_a-z~])*@)?(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<host>(?:%[0-9A-Fa-f]{2}|[!$&-.0-9;=A-Z_a-z~])*))(?::(?P<port>[0-9]*))?(?:/(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~/])*)?` +
	`|/?(?:(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~])(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~/])*)?)` +
	`(?:\?[\x00-"$-\x7f]*)?(?:#(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~/?])*)?$`)
