// Package measure asks a client in a lab the questions of the table, and words
// what it did.
package measure

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/lab"
	"github.com/fairlead-io/fairlead/e2e/vectors/session"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Ask asks one question and returns it with the answer.
func Ask(s *session.Session, question table.Row) (table.Row, error) {
	row, err := question.Vector()
	if err != nil {
		return question, err
	}
	target, err := dialect.ParseTarget(row.URL)
	if err != nil {
		return question, fmt.Errorf("%s: %w", row.URL, err)
	}
	java := s.Client.Kind == client.Java
	env := map[string]string{}
	for name, value := range row.Environment() {
		if strings.Contains(name, ".") == java { // properties have dots
			env[name] = value
		}
	}
	answer, err := s.Ask(session.Question{Env: env, URL: row.URL})
	if err != nil {
		return question, err
	}
	text := observed(target, answer.Contacts)
	if question.OfList() {
		text = expected(answer.Contacts)
	}
	return question.Answered(s.Client.Name, s.Version, text), nil
}

// Compare asks one question, and returns with it what the client's dialect says, and why.
func Compare(s *session.Session, question table.Row) (answered table.Row, says string, why dialect.Decision, err error) {
	answered, err = Ask(s, question)
	if err != nil {
		return answered, "", why, err
	}
	row, err := answered.Vector()
	if err != nil {
		return answered, "", why, err
	}
	says, why, err = row.Got()
	return answered, says, why, err
}

// Unjudged reports whether the client's dialect leaves open what becomes of the value of
// a proxy variable.
func Unjudged(client, version string, question table.Row) bool {
	row, err := question.Answered(client, version, "direct").Vector()
	if err != nil {
		return false
	}
	_, decision, err := row.Got()
	return err == nil && decision.Reason == dialect.NotJudged
}

// expected is the answer to a question of the list.
func expected(contacts []lab.Contact) string {
	proxied := func(c lab.Contact) bool { return c.Proxy != "" }
	switch {
	case len(contacts) == 0:
		return "fails"
	case !slices.ContainsFunc(contacts, proxied):
		return "direct"
	case !slices.ContainsFunc(contacts, func(c lab.Contact) bool { return !proxied(c) }):
		return "proxy"
	}
	return "both" // which no client should do
}

// observed is the answer to a question of the variables.
func observed(target dialect.Target, contacts []lab.Contact) string {
	if len(contacts) == 0 {
		return "error"
	}
	var texts []string
	for _, contact := range contacts {
		if text := observedOne(target, contact); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", then ")
}

func observedOne(target dialect.Target, contact lab.Contact) string {
	if contact.Proxy != "" {
		return contact.Proxy + " " + contact.How
	}
	meant, err := netip.ParseAddr(target.Host)
	if err != nil {
		meant = lab.Resolve(target.Host)
	}
	reached := contact.Address.Addr().Unmap()
	if reached == meant.Unmap() || reached == lab.Elsewhere || reached.IsLoopback() && meant.IsLoopback() {
		return "direct"
	}
	return "connects to " + netip.AddrPortFrom(reached, contact.Address.Port()).String()
}
