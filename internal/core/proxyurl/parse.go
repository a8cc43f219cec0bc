package proxyurl

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
)

// Parse reads a proxy URL as people keep it in a Secret: white space around it
// is dropped, a "/" after the port too; credentials inside it are kept byte for
// byte. An empty text gives the zero URL. No error shows any part of the text
// in front of the host, since a password may stand there.
func Parse(text string) (URL, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return URL{}, nil
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return URL{}, errors.New("the scheme is missing: write http://host:port")
	}
	switch scheme = strings.ToLower(scheme); scheme {
	case "http", "https":
	case "socks4", "socks4a", "socks5", "socks5h":
		return URL{}, fmt.Errorf("scheme %q is not supported: several common clients ignore it and connect directly", scheme)
	default:
		return URL{}, errors.New("the scheme is neither http nor https")
	}
	userinfo, address := "", rest
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		userinfo, address = rest[:at], rest[at+1:]
		if err := checkUserinfo(userinfo); err != nil {
			return URL{}, err
		}
	}
	address, err := parseAddress(strings.TrimSuffix(address, "/"))
	if err != nil {
		return URL{}, err
	}
	return newURL(parts{scheme, userinfo, address}), nil
}

// checkUserinfo accepts exactly the userinfo of RFC 3986, section 3.2.1. What
// it refuses is read differently by different clients: Go, for one, ignores a
// proxy whose URL has a bare "%" or "#" and connects directly.
func checkUserinfo(userinfo string) error {
	if name, _, _ := strings.Cut(userinfo, ":"); name == "" {
		return errors.New("the user information has no username")
	}
	switch at := len(allowed.FindString(userinfo)); {
	case at == len(userinfo):
		return nil
	case userinfo[at] == '%':
		return fmt.Errorf("the user information has a %% at byte %d that starts no percent-encoding: write %%25", at+1)
	default:
		return fmt.Errorf("the character at byte %d of user and password must be percent-encoded: # is %%23, @ is %%40, / is %%2F (RFC 3986)", at+1)
	}
}

var allowed = regexp.MustCompile("^(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*")

// parseAddress reads host:port. The port is not optional: the default is 80,
// 443 or 1080, depending on the client.
func parseAddress(address string) (string, error) {
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 || strings.HasSuffix(address, "]") {
		if strings.ContainsAny(address, "/?#") {
			return "", errors.New("nothing may follow the port: write http://host:port")
		}
		return "", errors.New("the port is missing: clients disagree about the default")
	}
	host, portText := address[:colon], address[colon+1:]
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return "", errors.New("the port is not a number from 1 to 65535, or something follows it")
	}
	if host == "" {
		return "", errors.New("the host is missing")
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", errors.New("an IPv6 address stands in brackets in a URL")
	}
	entry, err := noproxy.HostEntry(host)
	if err != nil || host != strings.TrimSpace(host) {
		return "", errors.New("the host is neither a host name nor an IP address")
	}
	if entry.Kind == noproxy.Addr {
		return netip.AddrPortFrom(entry.Prefix.Addr(), uint16(port)).String(), nil
	}
	if entry.Rooted {
		entry.Name += "."
	}
	return entry.Name + ":" + strconv.FormatUint(port, 10), nil
}
