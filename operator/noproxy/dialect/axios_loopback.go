package dialect

import "strings"

// isLoopback is isLoopback of shouldBypassProxy, which compares texts.
func (r axiosRules) isLoopback(host string) bool {
	if r < axios1151 {
		return false
	}
	return host == "localhost" || isLoopback4(host) || isLoopback6(host) ||
		r >= axios118 && (host == "0.0.0.0" || isUnspecified6(host))
}

func isLoopback4(host string) bool {
	parts := strings.Split(host, ".")
	if len(parts) != 4 || parts[0] != "127" {
		return false
	}
	for _, part := range parts {
		if !isDigits(part) || portNumber(part) > 255 {
			return false
		}
	}
	return true
}

func isLoopback6(host string) bool {
	if mapped, found := strings.CutPrefix(host, "::ffff:"); found {
		high, low, hex := strings.Cut(mapped, ":")
		return isLoopback4(mapped) || hex && isGroup(low) && isGroup(high) && len(high) == 4 && high[:2] == "7f"
	}
	groups := strings.Split(host, ":")
	if host == "::1" || len(groups) != 8 {
		return host == "::1"
	}
	for _, group := range groups[:7] {
		if !isZeros(group) {
			return false
		}
	}
	last, one := strings.CutSuffix(groups[7], "1")
	return one && (last == "" || isZeros(last))
}

func isUnspecified6(host string) bool {
	left, right, compressed := strings.Cut(host, "::")
	groups := 0
	for _, half := range []string{left, right} {
		if half == "" {
			continue
		}
		for _, group := range strings.Split(half, ":") {
			groups++
			if len(group) > 4 || !isZeros(group) {
				return false
			}
		}
	}
	return compressed && groups < 8 || groups == 8
}

func isZeros(text string) bool { return text != "" && strings.Trim(text, "0") == "" }

// isGroup tells whether a text is a group of an IPv6 address.
func isGroup(text string) bool {
	return 0 < len(text) && len(text) <= 4 && strings.Trim(text, "0123456789abcdef") == ""
}
