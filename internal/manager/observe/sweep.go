package observe

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// Sweeper looks at each cluster once a period.
type Sweeper struct {
	Options
	Client client.Client // reads reports and Machines from caches
	Live   client.Reader // reads kubeconfigs from the API server

	caged bool
	nodes nodes
	meter *meter

	looks sync.WaitGroup // of sweeps, too
	mu    sync.Mutex
	under map[types.NamespacedName]bool // clusters that are looked at
}

// spread is how much of a period the turns of clusters fill. Each has its turn at the same place of every period, give or take
// jitter, so that two turns are never two periods apart.
const (
	spread = 0.9
	jitter = 0.02
)

// cageRetry is when to look again for the admission policy.
const cageRetry = time.Second

// Start sweeps until the context ends.
func (s *Sweeper) Start(ctx context.Context) error {
	defer s.looks.Wait()
	places := make(chan struct{}, s.Parallel)
	for ctx.Err() == nil {
		began := time.Now()
		if err := s.sweep(ctx, began, places); err != nil && ctx.Err() == nil {
			return err
		}
		pause(ctx, time.Until(began.Add(s.Period)))
	}
	return nil
}

// turn is a cluster, and when it is looked at.
type turn struct {
	key   types.NamespacedName
	after time.Duration
}

// sweep begins to look at each cluster once, and does not wait for one that hangs: the next sweep is not to be late for it. The
// error is why this program must not run.
func (s *Sweeper) sweep(ctx context.Context, began time.Time, places chan struct{}) error {
	turns, err := s.turns(ctx)
	if err != nil || len(turns) == 0 {
		return err
	}
	var wait sync.WaitGroup
	for _, t := range turns {
		pause(ctx, time.Until(began.Add(t.after)))
		select {
		case <-ctx.Done():
		case places <- struct{}{}:
			wait.Go(func() {
				defer func() { <-places }()
				s.lookAt(ctx, t.key)
			})
		}
	}
	s.looks.Go(func() {
		if wait.Wait(); ctx.Err() == nil {
			s.meter.swept(turns, time.Since(began))
		}
	})
	return nil
}

// lookAt looks at a cluster as its report is now, unless the look of the last period goes on.
func (s *Sweeper) lookAt(ctx context.Context, key types.NamespacedName) {
	if !s.begin(key) {
		return
	}
	defer s.end(key)
	report, result := &v1alpha1.ProxyReport{}, ""
	if err := s.Client.Get(ctx, key, report); err == nil && observable(report) {
		result = s.look(ctx, report)
	}
	s.meter.saw(key, result)
}

func (s *Sweeper) begin(key types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[key] {
		return false
	}
	if s.under == nil {
		s.under = map[types.NamespacedName]bool{}
	}
	s.under[key] = true
	return true
}

func (s *Sweeper) end(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.under, key)
}

// observable are clusters with a proxy, and those that were observed with one: somebody there may still have its password.
func observable(report *v1alpha1.ProxyReport) bool {
	return report.DeletionTimestamp == nil && (report.Status.Mode == string(resolve.ModeProxied) || report.Status.Observed != nil)
}

// turns returns the turns of all clusters, in their order.
func (s *Sweeper) turns(ctx context.Context) ([]turn, error) {
	reports := &v1alpha1.ProxyReportList{}
	if err := s.Client.List(ctx, reports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ProxyReports in the cache: %w", err)
	}
	var turns []turn
	there := map[types.NamespacedName]bool{}
	for i := range reports.Items {
		report := &reports.Items[i]
		if !observable(report) {
			continue
		}
		if err := s.checkCage(ctx, report); err != nil {
			return nil, err
		}
		key := client.ObjectKeyFromObject(report)
		there[key] = true
		turns = append(turns, turn{key, s.place(key)})
	}
	slices.SortFunc(turns, func(a, b turn) int { return int(a.after - b.after) })
	s.nodes.forgetBut(there)
	return turns, nil
}

func (s *Sweeper) place(cluster types.NamespacedName) time.Duration {
	hash := sha256.Sum256([]byte(cluster.String())) // one that is spread evenly, whatever names are alike
	share := spread*float64(binary.BigEndian.Uint32(hash[:]))/math.MaxUint32 + jitter*rand.Float64()
	return time.Duration(share * float64(s.Period))
}

// checkCage tries once, before the first write, whether the admission policy holds. There must be a report to try it with.
func (s *Sweeper) checkCage(ctx context.Context, report *v1alpha1.ProxyReport) error {
	var answer error
	for range 10 { // the API server takes a moment to notice a new policy
		if s.caged || ctx.Err() != nil {
			return ctx.Err()
		}
		if answer = cage.CheckStatus(ctx, s.Client, report, "handledRequest", Policy); answer == nil {
			s.caged = true
			return nil
		}
		log.FromContext(ctx).Info("the admission policy does not hold yet", "policy", Policy, "answer", answer.Error())
		pause(ctx, cageRetry)
	}
	return fmt.Errorf("refusing to run without the admission policy %s: %w", Policy, answer)
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
