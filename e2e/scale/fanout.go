package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// fanOut is what was seen of one.
type fanOut struct {
	secrets, all time.Duration // until a watch had seen the last Secret, and the last of all
	used         usage
	requests     requests
}

func (l *lab) pids() map[string]int {
	pids := l.ours.cp.PIDs()
	pids["operator"], pids["this program"] = l.operator.pid(), os.Getpid()
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
	c, err := l.during(ctx, func() error {
		if err := l.setPassword(ctx, password); err != nil {
			return err
		}
		end, err := expected.await(ctx, l.progress)
		if err != nil {
			return err
		}
		f.secrets, f.all = expected.secretsEnd.Sub(begin), end.Sub(begin)
		after, err := usageOf(pids)
		f.used = after.since(before)
		return err
	})
	f.requests = c.requests
	return f, err
}

// fanOuts takes turns with the raw clients.
func (l *lab) fanOuts(ctx context.Context) error {
	before, err := l.reports(ctx)
	if err != nil {
		return err
	}
	var ours []fanOut
	var writes, secrets []time.Duration
	for round := range l.options.Rounds {
		l.progress.begins("fan-out %d of %d", round+1, l.options.Rounds)
		f, err := l.fanOut(ctx)
		if err != nil {
			return err
		}
		ours = append(ours, f)
		if l.rawFleet == nil {
			l.progress.begins("the raw clients' fleet")
			if l.rawFleet, err = rawFleet(ctx, l.progress, l.ours, l.raw, l.fleet, before); err != nil {
				return err
			}
		}
		for _, run := range []struct {
			what    string
			took    *[]time.Duration
			reports bool
		}{{"the same writes", &writes, true}, {"the Secrets alone", &secrets, false}} {
			l.progress.begins("raw client %d of %d: %s", round+1, l.options.Rounds, run.what)
			took, err := l.raw.rawRun(ctx, l.progress, l.rawFleet, l.options.Concurrency, l.nextToken(), run.reports)
			if err != nil {
				return err
			}
			*run.took = append(*run.took, took)
		}
	}
	l.addFanOuts(ours, writes, secrets)
	return nil
}

func (l *lab) addFanOuts(ours []fanOut, writes, secrets []time.Duration) {
	var took, untilSecrets []time.Duration
	var toWrites, toSecrets []float64
	for i, f := range ours {
		took, untilSecrets = append(took, f.all), append(untilSecrets, f.secrets)
		toWrites = append(toWrites, f.all.Seconds()/writes[i].Seconds())
		toSecrets = append(toSecrets, f.all.Seconds()/secrets[i].Seconds())
	}
	l.add("fan-out", joined(took))
	l.add("fan-out: until the last Secret", joined(untilSecrets))
	kind := "applied whole"
	if l.rawFleet[0].merge {
		kind = "merge patch"
	}
	l.add("raw client, the same writes (status: "+kind+")", joined(writes))
	l.add("raw client, the Secrets alone", joined(secrets))
	l.add("fan-out to the same writes, median", times(median(toWrites)))
	l.add("fan-out to the Secrets alone, median", times(median(toSecrets)))
	last := ours[len(ours)-1]
	l.add("last fan-out: requests", count(last.requests.sum()))
	l.add("last fan-out: which", last.requests.String())
	for _, name := range slices.Sorted(maps.Keys(last.used)) {
		used := last.used[name]
		l.add("last fan-out: processor time, "+name, fmt.Sprintf("%s, %.0f %%", seconds(used), 100*used.Seconds()/last.used.sum().Seconds()))
	}
}
