package probe

// Contradict reports whether two targets cannot both hold: the same URL is to be reached and not, or by two ways.
func Contradict(a, b Target) bool {
	switch {
	case a.URL != b.URL:
		return false
	case a.Expect == b.Expect:
		return a.Expect == Reachable && a.Route != "" && b.Route != "" && a.Route != b.Route
	case a.Expect == Unreachable:
		a, b = b, a
	}
	return b.Route == "" || a.Route == b.Route
}
