package main

import (
	"context"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// run is what a raw client took.
type run struct {
	took time.Duration
	used usage
}

// rawRun writes all clusters, so many at a time, until a watch has seen the last.
func (s *side) rawRun(ctx context.Context, p *progress, all []*rawCluster, parallel int, token string, reports bool) (r run, err error) {
	clusters := make([]types.NamespacedName, len(all))
	for i, raw := range all {
		clusters[i] = raw.key
	}
	pids := s.cp.PIDs()
	pids["this program"] = os.Getpid()
	before, err := usageOf(pids)
	if err != nil {
		return r, err
	}
	expected := s.watch.expect(clusters, token, reports)
	begin := time.Now()
	err = each(ctx, p, parallel, all, func(ctx context.Context, _ int, raw *rawCluster) error {
		if err := s.writeSecrets(ctx, raw, token); err != nil || !reports {
			return err
		}
		return s.writeStatus(ctx, raw, raw.status)
	})
	if err != nil {
		return r, err
	}
	end, err := expected.await(ctx, nil)
	if err != nil {
		return r, err
	}
	after, err := usageOf(pids)
	return run{end.Sub(begin), after.since(before)}, err
}
