// Package credentials counts who has or uses which credentials inside a cluster, by the fingerprints that came with the
// settings: copies and pods, as the replicator counts them, and relays, as their metrics say. It reads no Secret.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// Options say what there is to look at.
type Options struct {
	// List lists pods of our own namespace.
	List func(context.Context, metav1.ListOptions) (*corev1.PodList, error)
	// Copies: the replicator counts copies and pods. Relays: there is the DaemonSet.
	Copies, Relays bool
	// Unseen names what exists and cannot be read from here.
	Unseen []string
	// CopiesLeft is a file that is there as long as copies may be that nobody counts; empty: there are none.
	CopiesLeft string
	// Published returns the data of the ConfigMap of that name: what a previous process has published.
	Published func(ctx context.Context) (map[string]string, error)
	// Own are the settings that the probe itself uses.
	Own    func() (*upstream.Settings, error)
	Period time.Duration // between two counts
}

// Published is the ConfigMap with the result.
const Published = probe.ConfigMapName

// The labels by which the chart finds its pods, and the port with their metrics.
const (
	replicators    = "app.kubernetes.io/component=replicator"
	relays         = "app.kubernetes.io/component=relay"
	replicatorPort = "metrics"
	relayPort      = "health"
)

// The cost of scraping is bounded: 5,000 relays take some seconds. A relay that does not answer holds up few others.
const (
	parallel    = 64
	patience    = 3 * time.Second
	maxResponse = 1 << 20
)

// Counter counts, and remembers what was seen lately.
type Counter struct {
	Options

	now    func() time.Time
	mutex  sync.Mutex
	memory memory
	knows  bool // what was published before
}

// New returns a counter.
func New(options Options) *Counter {
	return &Counter{Options: options, now: time.Now, memory: memory{of: map[string]*probe.CredentialsSeen{}}}
}

// Count looks at everything once. Unseen says in words what could not be looked at, now or a moment ago.
func (c *Counter) Count(ctx context.Context) (seen []probe.CredentialsSeen, unseen []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.Period)
	defer cancel()
	round := &round{of: map[string]*probe.CredentialsSeen{}, accepted: map[string]*time.Time{}, refused: map[string]*time.Time{}, used: map[string]bool{}}
	c.remember(ctx, round)
	if c.Copies {
		c.countCopies(ctx, round)
	}
	if c.Relays {
		c.countRelays(ctx, round)
	}
	if settings, err := c.Own(); err == nil {
		round.own(settings)
	}
	c.lookForCopies(round)
	unseen = slices.Concat(c.Unseen, round.missing())
	return c.memory.learn(round, c.now()), c.memory.linger(unseen, c.now(), c.Period)
}

// remember reads once what was published before: who had credentials a moment ago.
func (c *Counter) remember(ctx context.Context, round *round) {
	if c.knows {
		return
	}
	data, err := c.Published(ctx)
	var before probe.Result
	if text := data[probe.ResultKey]; err == nil && text != "" {
		before, err = probe.Decode([]byte(text))
	}
	if err != nil {
		round.miss("what was seen before cannot be read: %s", err)
		return
	}
	c.memory.restore(before)
	c.knows = true
}

// countCopies asks the replicas of the replicator. They count alike, and one that answers is enough: of several, the highest
// number counts.
func (c *Counter) countCopies(ctx context.Context, round *round) {
	answers, _, err := c.scrapeAll(ctx, replicators, replicatorPort)
	counted := false
	for _, metrics := range answers {
		if metrics.value("fairlead_credentials_counted") == 1 {
			counted = true
			round.copies(metrics)
		}
	}
	switch {
	case err != nil:
		round.miss("copies and pods: the replicator's pods cannot be listed: %s", err)
	case !counted:
		round.miss("copies and pods: no replicator counts them")
	}
}

// lookForCopies: what carry SecretRef left stays until somebody deletes it, and the Secret beside us last.
func (c *Counter) lookForCopies(round *round) {
	if c.CopiesLeft == "" {
		return
	}
	if _, err := os.Stat(c.CopiesLeft); !errors.Is(err, fs.ErrNotExist) {
		round.miss("copies of the Secret fairlead-proxy from carry SecretRef, and pods with them: delete the Secret in this namespace when none is left")
	}
}

func (c *Counter) countRelays(ctx context.Context, round *round) {
	answers, silent, err := c.scrapeAll(ctx, relays, relayPort)
	for _, metrics := range answers {
		round.relay(metrics)
	}
	switch {
	case err != nil:
		round.miss("relays: their pods cannot be listed: %s", err)
	case silent > 0:
		round.miss("relays that do not answer: %d", silent)
	}
}

// scrapeAll returns the metrics of all pods that may run, and how many do not answer.
func (c *Counter) scrapeAll(ctx context.Context, selector, port string) (answers []metrics, silent int, err error) {
	addresses, err := c.addresses(ctx, selector, port)
	if err != nil {
		return nil, 0, err
	}
	var wait sync.WaitGroup
	var mutex sync.Mutex
	slots := make(chan struct{}, parallel)
	for _, address := range addresses {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			found, err := scrape(ctx, address)
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				silent++
				return
			}
			answers = append(answers, found)
		})
	}
	wait.Wait()
	return answers, silent, nil
}

func scrape(ctx context.Context, address string) (metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	response, err := healthz.Get(ctx, "http://"+address+"/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err == nil && len(text) > maxResponse {
		err = fmt.Errorf("%s: its metrics have more than %d bytes", address, maxResponse)
	}
	if err != nil {
		return nil, err
	}
	return parse(string(text)), nil
}

// later returns the later one of two times.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}
