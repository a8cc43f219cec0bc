package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// changes knows which clusters' Secrets may hold something else than their reports record: those that are being
// written, and those that were when a process ended. Without it, a change that is taken back before it was recorded
// would leave Secrets as they were in between, until they are applied again without a reason.
//
// For a process that ends there is one durable mark per change, not per cluster: status.applying of the CorporateProxy,
// set before the first Secret is overwritten and removed once every report records what was written. A process that
// finds one takes no report's word, and applies every cluster again.
type changes struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder

	memory *memory // which clusters are in doubt

	mu     sync.Mutex
	loaded bool
	marked map[string]*mark // by CorporateProxy
}

// mark is a change that is under way.
type mark struct {
	proxy    *v1alpha1.CorporateProxy
	machines bool
	clusters map[types.NamespacedName]bool // written since it was set
	touched  time.Time                     // when it was last needed
}

// markTime is how long the removal of a mark may take, while writes wait.
const markTime = 5 * time.Second

// settled is how long a mark stays after the last write, so that a fan-out sets it once.
const settled = 2 * time.Second

// load looks once for marks that an earlier process left, and puts every cluster in doubt if there are any. They are read live: a cache that has not seen one yet would
// take the word of reports that are not to be trusted.
func (c *changes) load(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded {
		return nil
	}
	proxies, reports := &v1alpha1.CorporateProxyList{}, &v1alpha1.ProxyReportList{}
	if err := c.live.List(ctx, proxies); err != nil {
		return err
	}
	c.marked = map[string]*mark{}
	var machines bool
	for i := range proxies.Items {
		proxy := &proxies.Items[i]
		if applying := proxy.Status.Applying; applying != nil {
			c.marked[proxy.Name] = newMark(proxy, applying.Machines)
			machines = machines || applying.Machines
		}
	}
	if len(c.marked) > 0 {
		if err := c.client.List(ctx, reports, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range reports.Items {
			c.memory.putInDoubt(client.ObjectKeyFromObject(&reports.Items[i]), machines)
		}
		log.FromContext(ctx).Info("an earlier process ended in the middle of a change; every cluster is applied again", "clusters", len(reports.Items))
	}
	c.loaded = true
	return nil
}

func newMark(proxy *v1alpha1.CorporateProxy, machines bool) *mark {
	return &mark{proxy: proxy, machines: machines, clusters: map[types.NamespacedName]bool{}, touched: time.Now()}
}

// begin is called before a cluster's Secrets are overwritten with other content. The write waits for the mark, which both
// the CorporateProxy that it is of and the one before carry: either may be deleted.
func (c *changes) begin(ctx context.Context, cluster types.NamespacedName, now, before string, machines bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range []string{before, now} {
		proxy, err := machinery.Get[v1alpha1.CorporateProxy](ctx, c.client, types.NamespacedName{Name: name})
		if err != nil {
			return err
		}
		if proxy == nil {
			continue // it carries no mark
		}
		m := c.marked[name]
		if m == nil || m.proxy.UID != proxy.UID || machines && !m.machines {
			m = newMark(proxy, machines)
			if err := c.setMark(ctx, proxy, &v1alpha1.ApplyingChange{Started: metav1.Now(), Machines: machines}); err != nil {
				return err
			}
			c.marked[name] = m
		}
		m.touched = time.Now()
	}
	c.memory.putInDoubt(cluster, machines)
	return nil
}

// overwrote counts a cluster whose Secrets were overwritten with a change of this CorporateProxy.
func (c *changes) overwrote(cluster types.NamespacedName, proxy string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.marked[proxy]; m != nil {
		m.clusters[cluster] = true
	}
}

// Start removes marks that are not needed any more. It runs where the controllers do.
func (c *changes) Start(ctx context.Context) error {
	ticker := time.NewTicker(settled / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.sweep(ctx, time.Now())
		}
	}
}

// sweep removes the marks while no cluster is in doubt. New writes wait meanwhile.
func (c *changes) sweep(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory.anyInDoubt() {
		return
	}
	for name, m := range c.marked {
		if now.Sub(m.touched) < settled {
			continue
		}
		if err := client.IgnoreNotFound(c.setMark(ctx, m.proxy, nil)); err != nil {
			log.FromContext(ctx).Error(err, "removing the mark of a change; it is tried again", "corporateproxy", name)
			continue
		}
		delete(c.marked, name)
		if n := len(m.clusters); n > 0 {
			c.events.Eventf(m.proxy, nil, corev1.EventTypeNormal, "Written", "Apply", "wrote the Secrets of %s anew", clusters(n))
		}
	}
}

// setMark sets the mark, or removes it if applying is nil, and leaves the rest of the status alone.
func (c *changes) setMark(ctx context.Context, proxy *v1alpha1.CorporateProxy, applying *v1alpha1.ApplyingChange) error {
	return apply.StatusFields(ctx, c.client, proxy, map[string]any{"applying": applying}, apply.FieldManager)
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}
