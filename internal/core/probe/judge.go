package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Tried is a target with the observations of one round.
type Tried struct {
	Target Target
	Chosen Route  // the way that the settings choose
	Why    string // they do, in words
	Host   string // of the target
	Seen   []Seen // for each way that was tried
}

// Ways returns the ways to try: the one that the settings choose. For a target that must not be reached, it returns
// each way that counts. Where the settings choose another way than is expected, nothing is tried.
func Ways(t Target, chosen Route, proxy bool) []Route {
	switch {
	case t.Expect == Reachable && (t.Route == "" || t.Route == chosen):
		return []Route{chosen}
	case t.Expect == Reachable, t.Route == Proxied && !proxy:
		return nil
	case t.Route != "":
		return []Route{t.Route}
	case proxy:
		return []Route{Proxied, Direct}
	}
	return []Route{Direct}
}

// Judge decides for each target of a round whether the expectation holds. A target that must not be reached is Held
// only if another target was reached on the same way in the same round. The results have no times.
func Judge(round []Tried) []TargetResult {
	r := rounds{tried: round, control: map[Route]bool{}}
	results := make([]TargetResult, len(round))
	for i, tried := range round {
		if tried.Target.Expect == Reachable {
			results[i] = r.reachable(tried)
			for _, seen := range tried.Seen {
				r.control[seen.Route] = r.control[seen.Route] || results[i].State == Held
			}
		}
	}
	for i, tried := range round {
		if tried.Target.Expect == Unreachable {
			results[i] = r.unreachable(tried)
		}
	}
	return results
}

type rounds struct {
	tried   []Tried
	control map[Route]bool
}

func (r *rounds) reachable(t Tried) TargetResult {
	result := TargetResult{Target: t.Target, State: Failed, Via: t.Chosen}
	if t.Target.Route != "" && t.Target.Route != t.Chosen {
		result.Reason = pick(t.Chosen, WentAround, WentThroughProxy)
		message := map[Route]string{Direct: "The settings lead around the proxy", Proxied: "The settings lead through the proxy"}[t.Chosen]
		if t.Why != "" {
			message += ": " + t.Why
		}
		result.Message = sentence(message)
		return result
	}
	if len(t.Seen) == 0 {
		result.State, result.Message = Unknown, "It was not tried."
		return result
	}
	seen := t.Seen[0]
	result.Peer = seen.Peer
	if seen.Stage == Done {
		result.State, result.Message = Held, evidence(seen)
		return result
	}
	result.Reason = r.reason(t, seen)
	result.Message = r.why(result.Reason, seen)
	return result
}

// unreachable: reached by one of the ways, it has failed. It is not reached if each of the ways is known to lead somewhere.
func (r *rounds) unreachable(t Tried) TargetResult {
	result := TargetResult{Target: t.Target, State: Held}
	var shut []string
	for _, seen := range t.Seen {
		reason := r.reason(t, seen)
		switch {
		case seen.reached():
			result.State, result.Reason, result.Message = Failed, Reached, "It is reached, and must not be: "+lower(evidence(seen))
			result.Via, result.Peer = seen.Route, seen.Peer
			return result
		case !seen.blocked(): // a look-up that failed, a proxy that is down, or that says nothing
			result.State, result.Reason = Unknown, reason
			result.Message = "Nobody knows whether it is closed: " + lower(r.why(reason, seen))
		case !r.control[seen.Route] && result.State == Held:
			result.State, result.Reason = Unknown, NoControl
			result.Message = fmt.Sprintf("It is not reached, but nothing else was reached %s in this round either.", byWay(seen.Route))
		}
		shut = append(shut, fmt.Sprintf("%s: %s", seen.Route, reason))
	}
	switch {
	case len(t.Seen) == 0:
		result.State, result.Reason, result.Message = Unknown, NoControl, "It was not tried: there is no such way."
	case result.State == Held:
		result.Message = "It is not reached (" + strings.Join(shut, ", ") + ")."
	}
	return result
}

// reason returns the reason of an attempt. The rest of the round helps to tell.
func (r *rounds) reason(t Tried, seen Seen) Reason {
	reason := seen.reason()
	switch {
	case reason == AuthorityUnknown && seen.Route == Proxied && (seen.Gateway || r.signsOthers(t, seen)):
		return Intercepted
	case reason == ProxyTimeout && seen.Stage == ProxyAnswer && seen.Cause == "" && r.answers(t):
		return ProxyCannotReach // it waits for the target
	}
	return reason
}

// signsOthers reports that the same unknown authority signs for hosts of other domains, through the proxy: two companies have no
// authority in common that nobody knows.
func (r *rounds) signsOthers(t Tried, seen Seen) bool {
	return slices.ContainsFunc(r.tried, func(other Tried) bool {
		return domain(other.Host) != domain(t.Host) && slices.ContainsFunc(other.Seen, func(s Seen) bool {
			return s.Route == Proxied && s.Stage == TLS && s.Fault == UnknownAuthority && s.Authority != "" && s.Authority == seen.Authority
		})
	})
}

// answers reports that the proxy said something about another target.
func (r *rounds) answers(t Tried) bool {
	return slices.ContainsFunc(r.tried, func(other Tried) bool {
		return other.Target != t.Target && slices.ContainsFunc(other.Seen, Seen.answered)
	})
}

// bundle is where a cluster's probe has the company's authorities from. A relay has them from there, too.
const bundle = "the bundle (trustedCA.bundle of fairlead-policies)"

// why says what ended an attempt.
func (r *rounds) why(reason Reason, seen Seen) string {
	detail := seen.Detail
	switch reason {
	case Intercepted:
		detail = fmt.Sprintf("the proxy inspects TLS: it shows a certificate by %q, which neither the system nor "+bundle+" has", seen.Issuer)
	case AuthorityUnknown:
		const text = "its certificate is by %q, which neither the system nor " + bundle + " has: " +
			"that of the target itself, or of a proxy that inspects TLS"
		detail = fmt.Sprintf(text, seen.Issuer)
	case LookupFailed:
		if seen.Cause == noAddress {
			detail = "the proxy finds no address of it (ERR_CANNOT_FORWARD): its DNS has none, or the proxy that it asks is down"
		}
	case ProxyCannotReach:
		if seen.Fault == Timeout {
			detail = "the proxy gives no answer for it, and does for others: it does not reach it"
		}
	}
	peer := ""
	if seen.Peer != "" {
		peer = " (at " + seen.Peer + ")"
	}
	return sentence(cmp.Or(detail, string(reason)) + peer)
}

// evidence says which way it went, and what answered.
func evidence(seen Seen) string {
	parts := []string{byWay(seen.Route)}
	if seen.Peer != "" {
		parts[0] += " at " + seen.Peer
	}
	if seen.ALPN != "" {
		parts = append(parts, seen.ALPN)
	}
	if seen.HTTP != 0 {
		parts = append(parts, fmt.Sprint("status ", seen.HTTP))
	}
	if seen.Trust == ByBundle && seen.Issuer != "" {
		parts = append(parts, fmt.Sprintf("TLS by %q, trusted by the bundle", seen.Issuer))
	}
	return sentence(strings.Join(parts, ", "))
}

func byWay(route Route) string {
	return map[Route]string{Direct: "directly", Proxied: "through the proxy"}[route]
}

// maxMessage keeps a result small.
const maxMessage = 300

func sentence(text string) string {
	text = shortened(text, maxMessage)
	if first, _, _ := strings.Cut(text, " "); text != "" && !strings.HasSuffix(first, ":") { // as x509: it is a name
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + "."
}

func shortened(text string, to int) string {
	if len(text) <= to {
		return text
	}
	return strings.ToValidUTF8(text[:to], "") + "…"
}

// lower makes a sentence the end of another one. DNS and TLS stay what they are.
func lower(text string) string {
	if text == "" || len(text) > 1 && text[1] >= 'A' && text[1] <= 'Z' {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
