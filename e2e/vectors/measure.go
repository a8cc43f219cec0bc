package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/differential"
	"github.com/fairlead-io/fairlead/e2e/vectors/measure"
	"github.com/fairlead-io/fairlead/e2e/vectors/session"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

// measure asks one client everything. Its rows get into the table only when it
// has answered all.
func (c *campaign) measure(ctx context.Context, one *client.Client) error {
	if missing := one.Missing(ctx); missing != "" {
		fmt.Fprintf(os.Stderr, "%-45s not here, its rows stay: install %s\n", one.Name, missing)
		return nil
	}
	s, err := session.Open(ctx, one, c.cache)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // an empty folder
	unjudged := func(question table.Row) bool { return measure.Unjudged(one.Name, s.Version, question) }
	questions := slices.DeleteFunc(slices.Clone(c.questionsFor(one)), unjudged)
	began := time.Now()
	var rows []table.Row
	for _, question := range questions {
		row, err := c.askSteadily(s, question)
		if err != nil {
			return fmt.Errorf("%s, question %d: %w", one.Name, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	told(one.Name+" "+s.Version, len(rows), began)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range c.table.Merge(one.Name, s.Version, rows) {
		fmt.Printf("changed: %s %s: %s: %s, was %s\n", one.Name, s.Version, change.After, change.After.Answer(), change.Before.Answer())
	}
	return c.table.Write()
}

// askSteadily asks again where the answer differs from the table's: a new
// answer must be the same each time.
func (c *campaign) askSteadily(s *session.Session, question table.Row) (table.Row, error) {
	row, err := measure.Ask(s, question)
	if err != nil {
		return row, err
	}
	c.mu.Lock()
	before := c.table.Answer(row)
	c.mu.Unlock()
	if before == row.Answer() {
		return row, nil
	}
	again, err := measure.Ask(s, question)
	if err == nil && again.Answer() != row.Answer() {
		err = fmt.Errorf("%s: %s, and asked again: %s", question, row.Answer(), again.Answer())
	}
	return row, err
}

// compare asks one client generated questions.
func (c *campaign) compare(ctx context.Context, one *client.Client, o options) error {
	if one.Missing(ctx) != "" {
		return nil // measure has said so
	}
	s, err := session.Open(ctx, one, c.cache)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // an empty folder
	began := time.Now()
	result, err := differential.Compare(s, o.seed, o.cases)
	if err != nil {
		return fmt.Errorf("%s, generated question %d: %w", one.Name, result.Cases+1, err)
	}
	told(one.Name+" "+s.Version+", generated", result.Cases, began)
	fmt.Printf("%s %s: %d generated questions, %d direct, %d answered otherwise by its dialect\n",
		one.Name, s.Version, result.Cases, result.Direct, len(result.Disagreements))
	for _, disagreement := range result.Disagreements {
		fmt.Println(disagreement)
	}
	if len(result.Disagreements) > 0 {
		return fmt.Errorf("%s and its dialect disagree; again with SEED=%d", one.Name, o.seed)
	}
	return nil
}

// told tells people that a client has answered, and how long it took.
func told(name string, questions int, began time.Time) {
	fmt.Fprintf(os.Stderr, "%-45s %5d in %s\n", name, questions, time.Since(began).Round(100*time.Millisecond))
}
