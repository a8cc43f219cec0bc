package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fairlead-io/fairlead/e2e/process"
)

type options struct {
	Rounds, Pods, WarmUp int
	Progress             io.Writer
}

// result is what the creation of pods under one policy took.
type result struct {
	policy  string
	took    []time.Duration
	reviews reviews // that Kyverno was sent for them
	kyverno time.Duration
}

// measure lets each policy have its turn in each round.
func measure(ctx context.Context, options options) (results []result, err error) {
	policies, err := all(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newLab(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	results = make([]result, len(policies))
	for round := range options.Rounds {
		for turn := range policies {
			i := (turn + round) % len(policies) // nobody is always the first
			fmt.Fprintf(options.Progress, "round %d of %d: %s\n", round+1, options.Rounds, policies[i].name)
			results[i].policy = policies[i].name
			if err := l.with(ctx, policies[i], func() error { return l.turn(ctx, options, &results[i]) }); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// turn adds to the result.
func (l *lab) turn(ctx context.Context, options options, r *result) error {
	if _, err := l.create(ctx, options.WarmUp); err != nil {
		return err
	}
	before, err := l.reviews(ctx)
	if err != nil {
		return err
	}
	used, err := process.CPUTime(l.kyverno.PID())
	if err != nil {
		return err
	}
	took, err := l.create(ctx, options.Pods)
	if err != nil {
		return err
	}
	stillUsed, err := process.CPUTime(l.kyverno.PID())
	if err != nil {
		return err
	}
	after, err := l.reviews(ctx)
	if err != nil {
		return err
	}
	r.took = append(r.took, took...)
	r.reviews = r.reviews.plus(after.minus(before))
	r.kyverno += stillUsed - used
	return l.clear(ctx)
}
