package dialect

import "strings"

// variable is a variable that a client found; its name is empty if it found none.
type variable struct{ name, value string }

// nonEmpty returns the first of the variables that has a value: an empty one is
// as good as none.
func (e Env) nonEmpty(names ...string) variable {
	for _, name := range names {
		if value := e[name]; value != "" {
			return variable{name, value}
		}
	}
	return variable{}
}

// set returns the first of the variables that is there, if only as "".
func (e Env) set(names ...string) variable {
	for _, name := range names {
		if value, ok := e[name]; ok {
			return variable{name, value}
		}
	}
	return variable{}
}

// joinHostPort puts an IPv6 host into brackets.
func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// elements cuts a list at commas, without losing where each element stood.
func elements(list string) []Span {
	var spans []Span
	for start := 0; ; {
		end := strings.IndexByte(list[start:], ',')
		if end < 0 {
			return append(spans, Span{start, len(list)})
		}
		spans = append(spans, Span{start, start + end})
		start += end + 1
	}
}

// trimFunc narrows a span by the characters of a set at both ends.
func (s Span) trimFunc(list string, set func(rune) bool) Span {
	left := strings.TrimLeftFunc(s.Of(list), set)
	start := s.End - len(left)
	return Span{start, start + len(strings.TrimRightFunc(left, set))}
}

// Uniform is the environment that Fairlead writes: both cases of the three
// variables with the same values, none of them empty, and for Java the system
// properties that mean the same. nonProxyHosts is empty where Java has none.
func Uniform(httpProxy, httpsProxy, noProxy, nonProxyHosts string) Env {
	env := Env{}
	for name, value := range map[string]string{"http_proxy": httpProxy, "https_proxy": httpsProxy, "no_proxy": noProxy} {
		if value != "" {
			env[name], env[strings.ToUpper(name)] = value, value
		}
	}
	env.addJava(httpProxy, httpsProxy, nonProxyHosts)
	return env
}
