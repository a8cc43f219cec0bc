package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// fanOut has the measurements of a fan-out.
type fanOut struct {
	counted
	secrets, all time.Duration // until a watch had seen the last Secret, and the last of all
	processors   usage
}

func (l *lab) pids() map[string]int {
	pids := l.ours.cp.PIDs()
	pids["operator"], pids["this program"] = l.operator.pid(), os.Getpid()
	if l.delivery != nil {
		pids["deliver"] = l.delivery.pid()
	}
	return pids
}

func (l *lab) fanOut(ctx context.Context) (f fanOut, err error) {
	password := l.nextToken()
	expected := l.ours.watch.expect(l.fleet, password, true)
	pids := l.pids()
	before, err := usageOf(pids)
	if err != nil {
		return f, err
	}
	begin := time.Now()
	f.counted, err = l.during(ctx, func() error {
		if err := l.setPassword(ctx, password); err != nil {
			return err
		}
		end, err := expected.await(ctx)
		if err != nil {
			return err
		}
		f.secrets, f.all = expected.secretsEnd.Sub(begin), end.Sub(begin)
		after, err := usageOf(pids)
		f.processors = after.since(before)
		return err
	})
	return f, err
}

func (l *lab) fanOuts(ctx context.Context) error {
	var ours []fanOut
	for round := range l.options.Rounds {
		l.begins("fan-out %d of %d", round+1, l.options.Rounds)
		f, err := l.fanOut(ctx)
		if err != nil {
			return err
		}
		ours = append(ours, f)
	}
	l.addFanOuts(ours)
	return nil
}

func (l *lab) addFanOuts(ours []fanOut) {
	var took, untilSecrets, untilDelivered []time.Duration
	for _, f := range ours {
		took, untilSecrets, untilDelivered = append(took, f.all), append(untilSecrets, f.secrets), append(untilDelivered, f.arrived)
	}
	l.add("fan-out", joined(took))
	l.add("fan-out: until the last Secret", joined(untilSecrets))
	last := ours[len(ours)-1]
	l.add("last fan-out: requests", count(last.requests.sum()))
	l.add("last fan-out: which", last.requests.String())
	var texts []string
	used := last.processors
	for _, name := range slices.Sorted(maps.Keys(used)) {
		texts = append(texts, fmt.Sprintf("%s %s (%.0f %%)", name, seconds(used[name]), 100*used[name].Seconds()/used.sum().Seconds()))
	}
	l.add("last fan-out: processor time", strings.Join(texts, ", "))
	if l.delivery != nil {
		l.add("fan-out: until all is delivered to Cluster API", joined(untilDelivered))
		l.add("last fan-out: requests of deliver", last.delivery.String())
	}
}
