package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create creates clusters at their pace and returns how long each waited for its Secrets: from the answer to its creation
// until a watch saw the second of them.
func (l *lab) create(ctx context.Context, clusters []types.NamespacedName) ([]time.Duration, error) {
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	var waited []time.Duration
	tick := time.NewTicker(l.options.Pace)
	defer tick.Stop()
	for i, key := range clusters {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, group.Wait()
		}
		group.Go(func() error {
			expected := l.ours.watch.expect([]types.NamespacedName{key}, "", false)
			if err := l.ours.client.Create(ctx, newCluster(key, l.options.Clusters+i, l.options.Deliver)); err != nil {
				return err
			}
			begin := time.Now()
			end, err := expected.await(ctx)
			mu.Lock()
			defer mu.Unlock()
			waited = append(waited, max(0, end.Sub(begin))) // the answer may come last
			return err
		})
	}
	return waited, group.Wait()
}

// newNames are in the fleet's namespaces.
func (l *lab) newNames(prefix string) []types.NamespacedName {
	names := make([]types.NamespacedName, l.options.New)
	for i := range names {
		names[i] = types.NamespacedName{Namespace: l.fleet[i%len(l.fleet)].Namespace, Name: fmt.Sprintf("%s-%05d", prefix, i)}
	}
	return names
}

func (l *lab) newOnQuiet(ctx context.Context) error {
	l.begins("new clusters on the quiet fleet")
	clusters := l.newNames("quiet")
	waited, err := l.create(ctx, clusters)
	if err != nil {
		return err
	}
	l.addNew("on the quiet fleet", waited)
	return l.remove(ctx, clusters)
}

func (l *lab) addNew(when string, waited []time.Duration) {
	l.add(fmt.Sprintf("%d new clusters %s: p50, p99, longest", len(waited), when),
		milliseconds(percentile(waited, 50))+", "+milliseconds(percentile(waited, 99))+", "+milliseconds(percentile(waited, 100)))
}

// newDuringFanOut creates them while one fan-out follows the other.
func (l *lab) newDuringFanOut(ctx context.Context) error {
	l.begins("new clusters during fan-outs")
	clusters := l.newNames("busy")
	fanOuts := 0
	enough := make(chan struct{})
	begun := make(chan struct{})
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for {
			password := l.nextToken()
			expected := l.ours.watch.expect(l.fleet, password, true)
			if err := l.setPassword(groupCtx, password); err != nil {
				return err
			}
			if fanOuts++; fanOuts == 1 {
				if _, err := expected.awaitUntil(groupCtx, expected.total/50); err != nil {
					return err
				}
				close(begun)
			}
			if _, err := expected.await(groupCtx); err != nil {
				return err
			}
			select {
			case <-enough:
				return nil
			default:
			}
		}
	})
	var waited []time.Duration
	group.Go(func() (err error) {
		defer close(enough)
		select {
		case <-begun:
		case <-groupCtx.Done():
			return groupCtx.Err()
		}
		waited, err = l.create(groupCtx, clusters)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	l.addNew(fmt.Sprintf("during %d fan-outs", fanOuts), waited)
	used, err := l.operator.memory()
	if err != nil {
		return err
	}
	l.add("memory after the fan-outs; peak", mebibytes(used.Now)+"; "+mebibytes(used.Peak))
	return l.remove(ctx, clusters)
}

// remove returns when nothing of the clusters is left.
func (l *lab) remove(ctx context.Context, clusters []types.NamespacedName) error {
	l.begins("they are deleted")
	err := each(ctx, creators, clusters, func(ctx context.Context, _ int, key types.NamespacedName) error {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		return client.IgnoreNotFound(l.ours.client.Delete(ctx, cluster))
	})
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, waveTimeout, true, func(context.Context) (bool, error) {
		return l.ours.watch.left(clusters) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("%d objects of deleted clusters are left: %w", l.ours.watch.left(clusters), err)
	}
	_, err = l.operator.quiet(ctx)
	return err
}
