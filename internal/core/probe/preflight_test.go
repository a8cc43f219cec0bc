package probe

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatIsReachedWithNeitherRevisionSaysNothingAboutTheChange(t *testing.T) {
	result := func(url string, reason Reason) TargetResult {
		r := TargetResult{Target: Target{URL: "https://" + url, Expect: Reachable, Route: Proxied}, State: Held, Reason: reason, Message: "Because."}
		if reason != "" {
			r.State = Failed
		}
		return r
	}
	of := func(reasons ...Reason) (all []TargetResult) {
		for i, reason := range reasons {
			all = append(all, result(fmt.Sprint("t", i, ".example"), reason))
		}
		return all
	}
	for name, test := range map[string]struct {
		candidate, control []TargetResult
		same               bool
		state              State
		reason             Reason
		message            string
	}{
		"reached":                             {of("", ""), nil, false, Held, "", "https://t0.example: Because"},
		"407":                                 {of(CredentialsRefused), of(""), false, Failed, CredentialsRefused, "https://t0.example: Because"},
		"407, also before":                    {of(CredentialsRefused), of(CredentialsRefused), false, Failed, CredentialsRefused, ""},
		"407, by the same":                    {of(CredentialsRefused), of(""), true, Unknown, CredentialsRefused, ""},
		"407 beside what is reached":          {of("", CredentialsRefused), of("", ""), false, Failed, CredentialsRefused, "t1.example"},
		"a proxy that was there is not":       {of(ProxyTimeout), of(""), false, Failed, ProxyTimeout, ""},
		"a proxy that was not there is not":   {of(ProxyTimeout), of(ProxyRefused), false, Unknown, ProxyTimeout, ""},
		"another proxy than one that refuses": {of(ProxyTimeout), of(CredentialsRefused), false, Failed, ProxyTimeout, ""},
		"the first proxy is not there":        {of(ProxyLookupFailed), nil, false, Unknown, ProxyLookupFailed, ""},
		"the first proxy forbids":             {of(ProxyForbids), nil, false, Failed, ProxyForbids, ""},
		"the first proxy shows another CA":    {of(ProxyAuthorityUnknown), nil, false, Failed, ProxyAuthorityUnknown, ""},
		"a target is down":                    {of("", ProxyCannotReach), of("", ProxyCannotReach), false, Held, "", "not reached, nor with what clusters have: https://t1.example"},
		"a target is cut off":                 {of("", ProxyForbids), of("", ""), false, Failed, ProxyForbids, "t1.example"},
		"no time for what was before":         {of(ProxyForbids), []TargetResult{{State: Unknown}}, false, Failed, ProxyForbids, ""},
		"inspected before, too":               {of(Intercepted), of(Intercepted), false, Unknown, Intercepted, ""},
		"nothing":                             {nil, nil, false, Unknown, NoControl, "nothing was tried"},
		"many":                                {of(ProxyForbids, ProxyForbids, ProxyForbids, ProxyForbids, ProxyForbids), nil, false, Failed, ProxyForbids, "t2.example: Because; and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			state, reason, message := JudgeRevision(test.candidate, test.control, test.same)
			if state != test.state || reason != test.reason || !strings.Contains(message, test.message) {
				t.Errorf("%s %s %q", state, reason, message)
			}
		})
	}
}

func TestAProxyThatAnswersIsReachedWhereNoTargetIsKnown(t *testing.T) {
	for reason, want := range map[Reason]State{
		ProxyForbids: Held, ProxyCannotReach: Held, LookupFailed: Held,
		CredentialsRefused: Failed, ProxyTimeout: Failed, ProxyNotHTTP: Failed, ProxyAuthorityUnknown: Failed,
	} {
		if got := OfProxyItself(TargetResult{State: Failed, Reason: reason}); got.State != want {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

func TestATaskAndAnAnswerAreReadAsTheyWereWritten(t *testing.T) {
	task := Task{
		Candidate: Way{2, "d", "http://u:geheim@p:1", "", "ca"}, Control: &Way{Revision: 1, Digest: "c", HTTPS: "http://u:geheim@p:2"},
		Targets: []Target{{"https://a.example", Reachable, Proxied}},
	}
	read, err := ParseTask(task.Text())
	if err != nil || !read.Candidate.Same(task.Candidate) || read.Control.HTTPS != task.Control.HTTPS || read.Targets[0] != task.Targets[0] {
		t.Errorf("%v", err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb+verb, task, task.Control); strings.Contains(text, "geheim") {
			t.Errorf("%s shows the password: %s", verb, text)
		}
	}
	next := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answer := Answer{2, "d", Failed, CredentialsRefused, "407", next, &next}
	if got, err := ParseAnswer(answer.Text()); err != nil || got.Reason != answer.Reason || !got.Next.Equal(next) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "{}", `{"digest": "d", "state": "Perhaps"}`, "[]"} {
		if _, err := ParseAnswer(text); err == nil {
			t.Errorf("%s is an answer", text)
		}
		if _, err := ParseTask([]byte(text)); err == nil {
			t.Errorf("%s is a task", text)
		}
	}
}
