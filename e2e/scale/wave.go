package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// wave has the parts of a change that the watch has not seen yet: Secrets with a token, and reports
// that record new ones.
type wave struct {
	watch *fleetWatch
	token string // "": any
	total int

	secrets map[types.NamespacedName]struct{}
	reports map[types.NamespacedName]string // as they were before

	done            chan struct{}
	secretsEnd, end time.Time
}

// expect begins a wave: before the change is made.
func (w *fleetWatch) expect(clusters []types.NamespacedName, token string, reports bool) *wave {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &wave{watch: w, token: token, done: make(chan struct{}), secrets: map[types.NamespacedName]struct{}{}, reports: map[types.NamespacedName]string{}}
	for _, cluster := range clusters {
		for _, key := range secretsOf(cluster) {
			if has := w.secrets[key]; has == "" || has != token && token != "" {
				v.secrets[key] = struct{}{}
			}
		}
		if reports {
			v.reports[cluster] = w.reports[cluster]
		}
	}
	v.total = len(v.secrets) + len(v.reports)
	if v.total == 0 {
		v.end = time.Now()
		close(v.done)
		return v
	}
	w.waves = append(w.waves, v)
	return v
}

// seen is how many objects are as they should be.
func (v *wave) seen() int {
	v.watch.mu.Lock()
	defer v.watch.mu.Unlock()
	return v.total - len(v.secrets) - len(v.reports)
}

// someLeft names some of the parts that the watch has not seen yet.
func (v *wave) someLeft() string {
	v.watch.mu.Lock()
	defer v.watch.mu.Unlock()
	var left []string
	for key := range v.secrets {
		left = append(left, fmt.Sprintf("Secret %s (seen: %q)", key, v.watch.secrets[key]))
	}
	for key, before := range v.reports {
		left = append(left, fmt.Sprintf("ProxyReport %s (before: %q, seen: %q)", key, before, v.watch.reports[key]))
	}
	return strings.Join(left[:min(len(left), 3)], ", ")
}

// await returns when the last was seen.
func (v *wave) await(ctx context.Context) (time.Time, error) {
	return v.awaitUntil(ctx, v.total)
}

// awaitUntil returns when so many were seen.
func (v *wave) awaitUntil(ctx context.Context, enough int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, waveTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-v.done:
			return v.end, nil
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("await the fleet's objects, %d of %d are as they should be, not %s: %w", v.seen(), v.total, v.someLeft(), ctx.Err())
		case <-tick.C:
			if v.seen() >= enough && enough < v.total {
				return time.Now(), nil
			}
		}
	}
}
