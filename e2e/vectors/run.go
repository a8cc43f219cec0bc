package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/differential"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

// Where things are, seen from the folder of the module e2e.
const (
	tableDir      = "../noproxy/dialect/vector/table"
	questionsFile = "vectors/questions.json"
	cacheDir      = "../.cache/vectors"
)

// campaign is one measurement of several clients.
type campaign struct {
	cache     string
	questions []table.Row // of everybody but Java
	java      []table.Row

	mu    sync.Mutex // guards the table
	table *table.Table
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	clients, err := chosen(o.clients)
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
	if err := inParallel(o.parallel, clients, func(one *client.Client) error { return one.Build(ctx, c.cache) }); err != nil {
		return err
	}
	if err := inParallel(o.parallel, clients, func(one *client.Client) error { return c.measure(ctx, one) }); err != nil {
		return err
	}
	clients = slices.DeleteFunc(clients, func(one *client.Client) bool { return !slices.Contains(differential.Clients, one.Name) })
	fmt.Printf("generated questions: SEED=%d\n", o.seed)
	return inParallel(o.parallel, clients, func(one *client.Client) error { return c.compare(ctx, one, o) })
}

// inParallel does something for all clients, also if it fails for one.
func inParallel(parallel int, clients []*client.Client, do func(*client.Client) error) error {
	errs := make([]error, len(clients))
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, one := range clients {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(one)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func chosen(names string) ([]*client.Client, error) {
	var clients []*client.Client
	if names == "" {
		for i := range client.All {
			clients = append(clients, &client.All[i])
		}
		return clients, nil
	}
	for name := range strings.SplitSeq(names, ",") {
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
