package upstream

import "regexp"

var (
	squidError  = regexp.MustCompile(`^(ERR_[A-Z0-9_]{1,40})( |$)`)
	proxyStatus = regexp.MustCompile(`^[^;,"]{1,100};[ a-z0-9=_;-]*error=([a-z_]{1,40})(?:; details="([A-Za-z0-9-]{1,30})")?`)
)

// RelayCause begins the cause that a relay of ours gives: what the company's proxy said to it, or that it said nothing.
const RelayCause = "fairlead-relay: "

// Cause is why a proxy answers as it does, if it says so in a word that many proxies know: an error of squid's, or of Proxy-Status
// (RFC 9209). Nothing else that it says is taken: it may repeat what it was told. Empty: this is no answer of a proxy, as far as
// the header tells.
func Cause(header map[string][]string) string {
	for _, value := range header["X-Squid-Error"] {
		if found := squidError.FindStringSubmatch(value); found != nil {
			return found[1]
		}
	}
	for _, value := range header["Proxy-Status"] {
		found := proxyStatus.FindStringSubmatch(value)
		switch {
		case found == nil:
		case len(value) > len("fairlead-relay;") && value[:len("fairlead-relay;")] == "fairlead-relay;":
			return RelayCause + found[2]
		default:
			return found[1]
		}
	}
	return ""
}
