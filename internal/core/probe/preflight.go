package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PreflightName is the Secret with what the preflight is to try, and the ConfigMap with what it found, in the operator's
// namespace. Both have a key for each CorporateProxy.
const PreflightName = "fairlead-preflight"

// Task is the input of the preflight for a CorporateProxy. It holds passwords.
type Task struct {
	Candidate Way      `json:"candidate"`
	Control   *Way     `json:"control,omitempty"` // of the revision that clusters have; nil: none has any
	Targets   []Target `json:"targets,omitempty"` // none: the proxy itself is asked
}

// Way is how a revision leads to the targets. It holds passwords.
type Way struct {
	Revision  int64  `json:"revision"`
	Digest    string `json:"digest"`
	HTTP      string `json:"http,omitempty"`
	HTTPS     string `json:"https,omitempty"`
	TrustedCA string `json:"trustedCA,omitempty"`
}

// String shows no password.
func (w Way) String() string { return fmt.Sprintf("revision %d (hidden)", w.Revision) }

// Format writes String for every verb.
func (w Way) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte(w.String())) }

// Same reports whether two revisions lead to the targets in the same way.
func (w Way) Same(other Way) bool {
	return w.HTTP == other.HTTP && w.HTTPS == other.HTTPS && w.TrustedCA == other.TrustedCA
}

// Text returns the JSON of the Secret.
func (t Task) Text() []byte {
	text, _ := json.Marshal(t) // strings and numbers
	return text
}

// ParseTask reads what Text wrote. The error shows nothing of it.
func ParseTask(text []byte) (Task, error) {
	var t Task
	if err := json.Unmarshal(text, &t); err != nil || t.Candidate.Revision < 1 || t.Candidate.Digest == "" {
		return Task{}, errors.New("it is no task of this version")
	}
	return t, nil
}

// Answer is the result of the preflight.
type Answer struct {
	Revision int64  `json:"revision"`
	Digest   string `json:"digest"`
	// State is Held if the targets were reached, Failed if they were not, and Unknown if nobody can tell from there.
	State   State      `json:"state"`
	Reason  Reason     `json:"reason,omitempty"` // why it is not Held
	Message string     `json:"message,omitempty"`
	Time    time.Time  `json:"time"`
	Next    *time.Time `json:"next,omitempty"` // when it is tried again
}

// Text returns the JSON of the ConfigMap.
func (a Answer) Text() string {
	text, _ := json.Marshal(a) // strings, numbers and times
	return string(text)
}

// ParseAnswer reads what Text wrote.
func ParseAnswer(text string) (Answer, error) {
	var a Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Digest == "" || !slices.Contains([]State{Held, Failed, Unknown}, a.State) {
		return Answer{}, errors.New("it is no answer of this version")
	}
	return a, nil
}

// proxyItself are answers of a proxy that say nothing against the proxy and the credentials, where it is not known that the
// target is there.
var proxyItself = []Reason{ProxyForbids, ProxyCannotReach, ProxyAnswers, LookupFailed}

// OfProxyItself is the result for a target that need not be there: the proxy was asked whether it answers, and takes the
// credentials.
func OfProxyItself(result TargetResult) TargetResult {
	if result.State == Failed && slices.Contains(proxyItself, result.Reason) {
		message := fmt.Sprintf("The proxy answers (%s). Whether it takes the credentials is certain only with a target in spec.probes.mustReach.", result.Reason)
		result.State, result.Reason, result.Message = Held, "", message
	}
	return result
}

// farAway are the reasons for which it may be the place that does not reach the proxy.
var farAway = []Reason{ProxyLookupFailed, ProxyRefused, ProxyTimeout, NetworkUnreachable}

// JudgeRevision returns the verdict on a revision from the results of its targets. control has the results with the
// revision that clusters have, for the same targets in the same order; nil: there is none. A target that is not reached
// with either says nothing about the change. Refused credentials do, unless they are the same.
func JudgeRevision(candidate, control []TargetResult, same bool) (state State, reason Reason, message string) {
	var held, failed, both []TargetResult
	for i, result := range candidate {
		switch {
		case result.State == Held:
			held = append(held, result)
		case same, result.State == Unknown: // nobody knows, or there was no time
			both = append(both, result)
		case result.Reason == CredentialsRefused:
			return Failed, result.Reason, describe(result)
		case control == nil && slices.Contains(farAway, result.Reason), control != nil && failedAlike(control[i]):
			both = append(both, result)
		default:
			failed = append(failed, result)
		}
	}
	switch {
	case len(failed) > 0:
		return Failed, failed[0].Reason, described(failed)
	case len(held) > 0 && len(both) > 0:
		return Held, "", "reached: " + held[0].URL + "; not reached, nor with what clusters have: " + described(both)
	case len(held) > 0:
		return Held, "", describe(held[0])
	case len(both) > 0:
		return Unknown, both[0].Reason, described(both)
	}
	return Unknown, NoControl, "nothing was tried"
}

// failedAlike reports whether the target is not reached with the previous credentials either. Refused ones are why there are new
// ones, and say that the proxy is there. What there was no time to try with them says nothing.
func failedAlike(control TargetResult) bool {
	return control.State == Failed && control.Reason != CredentialsRefused
}

func describe(result TargetResult) string {
	message := strings.ReplaceAll(result.Message, bundle, "the bundle of spec.trustedCARef")
	return result.URL + ": " + strings.TrimSuffix(message, ".")
}

func described(results []TargetResult) string {
	const most = 3
	var all []string
	for _, result := range results[:min(len(results), most)] {
		all = append(all, describe(result))
	}
	text := strings.Join(all, "; ")
	if more := len(results) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
