package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/measure"
	"github.com/fairlead-io/fairlead/e2e/vectors/session"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

// Where things are, seen from the folder of the module e2e.
const (
	tableDir      = "../operator/noproxy/dialect/vector/table"
	questionsFile = "vectors/questions.json"
	cacheDir      = "../.cache/vectors"
)

// campaign is one measurement of several clients.
type campaign struct {
	cache     string
	questions []table.Row // of everybody but Java
	java      []table.Row

	mu    sync.Mutex // guards what follows
	table *table.Table
	errs  []error
}

func run(ctx context.Context, names string, parallel int) error {
	clients, err := chosen(names)
	if err != nil {
		return err
	}
	c, err := newCampaign()
	if err != nil {
		return err
	}
	if err := client.Prepare(ctx, c.cache, os.Stderr); err != nil {
		return err
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, one := range clients {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := c.measure(ctx, one); err != nil {
				c.mu.Lock()
				c.errs = append(c.errs, err)
				c.mu.Unlock()
			}
		})
	}
	group.Wait()
	return errors.Join(c.errs...)
}

func chosen(names string) ([]*client.Client, error) {
	var clients []*client.Client
	for i := range client.All {
		if names == "" {
			clients = append(clients, &client.All[i])
		}
	}
	for name := range strings.SplitSeq(names, ",") {
		if names == "" {
			break
		}
		one, err := client.Find(name)
		if err != nil {
			return nil, err
		}
		clients = append(clients, one)
	}
	return clients, nil
}

func newCampaign() (*campaign, error) {
	t, err := table.Read(tableDir)
	if err != nil {
		return nil, err
	}
	own, err := table.ReadQuestions(questionsFile)
	if err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(cacheDir)
	if err != nil {
		return nil, err
	}
	isJava := func(name string) bool { return strings.HasPrefix(name, "java") }
	notJava := func(name string) bool { return !isJava(name) }
	ofJava := slices.DeleteFunc(slices.Clone(own), func(row table.Row) bool { return !isJava(row.Client) })
	own = slices.DeleteFunc(own, func(row table.Row) bool { return isJava(row.Client) })
	return &campaign{
		cache: cache, table: t,
		questions: table.Distinct(append(t.Questions(notJava), own...)),
		java:      table.Distinct(append(t.Questions(isJava), ofJava...)),
	}, nil
}

func (c *campaign) questionsFor(one *client.Client) []table.Row {
	switch one.Kind {
	case client.Java:
		return c.java
	case client.ListsOnly:
		return slices.DeleteFunc(slices.Clone(c.questions), func(row table.Row) bool { return !row.OfList() })
	}
	return c.questions
}

// measure asks one client everything. Its rows get into the table only when it
// has answered all.
func (c *campaign) measure(ctx context.Context, one *client.Client) error {
	s, err := session.Open(ctx, one, c.cache)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // an empty folder
	questions := c.questionsFor(one)
	progress := newProgress(one.Name+" "+s.Version, len(questions))
	var rows []table.Row
	for _, question := range questions {
		row, err := measure.Ask(s, question)
		if err != nil {
			return fmt.Errorf("%s, question %d: %w", one.Name, len(rows)+1, err)
		}
		rows = append(rows, row)
		progress.step()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range c.table.Merge(one.Name, s.Version, rows) {
		fmt.Printf("changed: %s %s: %s: %s, was %s\n", one.Name, s.Version, change.After, change.After.Answer(), change.Before.Answer())
	}
	return c.table.Write()
}

// progress tells people how far a client is.
type progress struct {
	name        string
	done, total int
	began, told time.Time
}

func newProgress(name string, total int) *progress {
	now := time.Now()
	return &progress{name: name, total: total, began: now, told: now}
}

func (p *progress) step() {
	p.done++
	if p.done == p.total {
		fmt.Fprintf(os.Stderr, "%-45s %5d/%d in %s\n", p.name, p.done, p.total, time.Since(p.began).Round(100*time.Millisecond))
	} else if time.Since(p.told) > 5*time.Second {
		fmt.Fprintf(os.Stderr, "%-45s %5d/%d\n", p.name, p.done, p.total)
		p.told = time.Now()
	}
}
