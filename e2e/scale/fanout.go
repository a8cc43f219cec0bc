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

// fanOut is what was seen of one.
type fanOut struct {
	secrets, all time.Duration // until a watch had seen the last Secret, and the last of all
	used         usage
	requests     requests
	delivered    time.Duration // until deliver had nothing to do any more
	delivery     requests
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
	f.requests, f.delivery, f.delivered = c.requests, c.delivery, c.arrived
	return f, err
}

// fanOuts takes turns with the raw clients.
func (l *lab) fanOuts(ctx context.Context) error {
	before, err := l.reports(ctx)
	if err != nil {
		return err
	}
	var ours []fanOut
	var writes, secrets []run
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
			into    *[]run
			reports bool
		}{{"the same writes", &writes, true}, {"the Secrets alone", &secrets, false}} {
			l.progress.begins("raw client %d of %d: %s", round+1, l.options.Rounds, run.what)
			r, err := l.raw.rawRun(ctx, l.progress, l.rawFleet, l.options.Concurrency, l.nextToken(), run.reports)
			if err != nil {
				return err
			}
			*run.into = append(*run.into, r)
		}
	}
	l.addFanOuts(ours, writes, secrets)
	return nil
}

func (l *lab) addFanOuts(ours []fanOut, writes, secrets []run) {
	var took, untilSecrets []time.Duration
	for _, f := range ours {
		took, untilSecrets = append(took, f.all), append(untilSecrets, f.secrets)
	}
	kind := "applied whole"
	if l.rawFleet[0].merge {
		kind = "merge patch"
	}
	l.add("fan-out", joined(took))
	l.add("fan-out: until the last Secret", joined(untilSecrets))
	l.add("raw client, the same writes (status: "+kind+")", joined(durations(writes)))
	l.add("raw client, the Secrets alone", joined(durations(secrets)))
	for _, raw := range []struct {
		what string
		runs []run
	}{{"the same writes", writes}, {"the Secrets alone", secrets}} {
		var wall, processor []float64
		for i, f := range ours {
			wall = append(wall, f.all.Seconds()/raw.runs[i].took.Seconds())
			processor = append(processor, f.used.sum().Seconds()/raw.runs[i].used.sum().Seconds())
		}
		l.add("fan-out to "+raw.what+", median", times(median(wall)))
		l.add("fan-out to "+raw.what+", processor time, median", times(median(processor)))
	}
	last := ours[len(ours)-1]
	l.add("last fan-out: requests", count(last.requests.sum()))
	l.add("last fan-out: which", last.requests.String())
	l.addUsage("last fan-out", last.used)
	l.addDelivery(ours)
	l.addUsage("last raw client, the same writes", writes[len(writes)-1].used)
}

func (l *lab) addUsage(when string, used usage) {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(used)) {
		texts = append(texts, fmt.Sprintf("%s %s (%.0f %%)", name, seconds(used[name]), 100*used[name].Seconds()/used.sum().Seconds()))
	}
	l.add(when+": processor time", strings.Join(texts, ", "))
}

func durations(runs []run) []time.Duration {
	var took []time.Duration
	for _, r := range runs {
		took = append(took, r.took)
	}
	return took
}
