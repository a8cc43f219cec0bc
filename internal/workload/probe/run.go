// Package probe tries the targets that a cluster must reach, and those that it must not: from its own place, and
// through the relay of every node. It opens the connections; package internal/core/probe judges the observations.
package probe

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// longestStage is how long a stage of an attempt may take; with a short period, less.
const longestStage = 10 * time.Second

// agent is the probe of a cluster.
type agent struct {
	Options

	prober  *Prober
	folder  *upstream.Folder
	targets targetsFile
	fixed   []probe.Target // the defaults
	found   *discovery     // nil: nothing is looked for
	fleet   *fleet         // nil: no node is tried
	pace    flowcontrol.RateLimiter
	publish publisher
	metrics metrics

	mutex   sync.Mutex // of what follows
	history probe.History
	plan    nodePlan
	mean    time.Duration     // that a node takes, of late
	others  map[string]string // by node: revision that its relay has, where it is not that of plan
}

// nodePlan has the targets that are tried through relays, and the settings.
type nodePlan struct {
	settings *upstream.Settings
	targets  []probe.Target
}

// Run tries the targets until the context is done. The error says why it cannot begin.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	if opts.Client != RelayClient {
		if _, err := dialect.Find(opts.Client); err != nil {
			return err
		}
	}
	a, err := newAgent(ctx, config, opts)
	if err != nil {
		return err
	}
	stop, err := a.serve()
	if err != nil {
		return err
	}
	defer stop()
	before, err := a.publish.read(ctx)
	if err != nil {
		opts.Log.Error("what was published before is unknown", "reason", err)
	}
	a.history.Restore(before, time.Now())
	if a.fleet != nil {
		a.fleet.await(ctx, opts.Period/2)
		go a.sweep(ctx)
	}
	for wait := time.Duration(0); pause(ctx, wait); {
		began := time.Now()
		a.round(ctx)
		wait = max(0, time.Until(began.Add(opts.Period))) - rand.N(opts.Period/20+1)
	}
	return nil
}

func newAgent(ctx context.Context, config *rest.Config, opts Options) (*agent, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = longestStage
	writer, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	a := &agent{
		Options: opts, prober: NewProber(min(longestStage, opts.Period/6)), folder: upstream.NewFolder(opts.Folder, opts.Log),
		targets: targetsFile{path: opts.Targets, log: opts.Log}, fixed: defaults(os.Getenv),
		pace:    newPace(),
		publish: publisher{client: writer, namespace: opts.Namespace, log: opts.Log},
	}
	a.prober.Cluster = authoritiesOf(config)
	if opts.Discover {
		if a.found, err = newDiscovery(writer, opts.AgentSelectors, opts.Log); err != nil {
			return nil, err
		}
	}
	if opts.RelaySelector != "" {
		watching := rest.CopyConfig(config)
		watching.Timeout = 0
		a.fleet, err = watchFleet(ctx, watching, opts)
	}
	return a, err
}

// authoritiesOf returns the authorities of the API server, which no system knows.
func authoritiesOf(config *rest.Config) *x509.CertPool {
	pem := config.CAData
	if config.CAFile != "" {
		pem, _ = os.ReadFile(config.CAFile)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return pool
}

// round tries everything from this pod, and publishes the result.
func (a *agent) round(ctx context.Context) {
	began := time.Now()
	limited, cancel := context.WithDeadline(ctx, began.Add(a.Period*9/10))
	defer cancel()
	said := a.said()
	targets := a.withFound(limited, said)
	settings, err := a.folder.Read()
	if err == nil {
		err = a.tryAll(limited, settings, said, targets)
	}
	if err != nil {
		a.Log.Error("there is no round", "reason", err)
		return
	}
	var seen []probe.CredentialsSeen
	unseen := []string{"copies, pods and relays: nobody counts whose credentials they have"}
	if a.Credentials != nil {
		seen, unseen = a.Credentials.Count(ctx)
	}
	result := a.currentResult(targets)
	result.Revision = settings.Revision
	result.Credentials, result.Unseen = seen, unseen
	err = a.publish.write(ctx, result)
	if err != nil && ctx.Err() == nil {
		a.Log.Error("the result is not published", "reason", err)
	}
	a.metrics.set(result, time.Since(began), a.targets.problem != nil || a.folder.Problem() != nil, err)
}

// currentResult returns what is known of these targets now. It has nodes only if targets are tried through their relays. The
// history gets the time that a turn over all nodes takes, to know which of what it saw is too old.
func (a *agent) currentResult(targets []probe.Target) probe.Result {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var nodes map[string]time.Time
	if len(a.plan.targets) > 0 {
		nodes = a.fleet.created()
		a.history.Turn = a.turn(len(nodes), len(a.plan.targets))
	}
	return a.history.Result(now(), a.Period, targets, nodes)
}

// now is as precise as a result is read by people.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// said returns the defaults and the targets of the file, each once.
func (a *agent) said() []probe.Target {
	all := slices.Clone(a.fixed)
	for _, target := range a.targets.read() {
		if !slices.Contains(all, target) {
			all = append(all, target)
		}
	}
	return all
}

// withFound adds the targets that were found, except where somebody already names a target of the same place.
func (a *agent) withFound(ctx context.Context, said []probe.Target) []probe.Target {
	all := slices.Clone(said)
	for _, target := range a.found.read(ctx, now()) {
		if !slices.ContainsFunc(all, target.SamePlace) {
			all = append(all, target)
		}
	}
	return all
}

// tryAll tries all targets from here, and has those that were said tried through relays.
func (a *agent) tryAll(ctx context.Context, settings *upstream.Settings, said, targets []probe.Target) error {
	choose, err := newChooser(RelayClient, settings)
	if err != nil {
		return err
	}
	a.mutex.Lock()
	a.plan = nodePlan{settings, throughRelay(said, choose)}
	a.history.Of(settings.Revision)
	a.mutex.Unlock()
	results, err := Round{a.prober, settings, a.Client, min(retryAfter, a.Period/10)}.Try(ctx, targets)
	if err != nil {
		return err
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.history.SawTargets(now(), results)
	return nil
}

// CredentialsCounter looks at who has or uses credentials in the cluster. Unseen says in words what it could not look at.
type CredentialsCounter interface {
	Count(ctx context.Context) (seen []probe.CredentialsSeen, unseen []string)
}

// Options are the options of the probe in a workload cluster.
type Options struct {
	Namespace      string        // its own: of the relays and the result
	Folder         string        // of the settings
	Targets        string        // file of further targets; empty: none
	Period         time.Duration // between two rounds
	Client         string        // the client of package dialect whose way is tried
	RelaySelector  string        // labels of the relays' pods; empty: no node is tried
	NodeSelector   string        // labels of the nodes that have a relay; empty: all
	Discover       bool          // find registries and hubs of tunnels
	AgentSelectors []string      // with Discover: labels of agents of reverse tunnels
	MetricsAddress string        // host:port, or 0 for none
	HealthAddress  string        // host:port, or 0 for none
	Log            *slog.Logger

	Credentials CredentialsCounter // nil: nobody counts
}

// serve answers Prometheus and the kubelet until it is stopped. It is ready once it has settings: a proxy that is down makes no
// pod unready.
func (a *agent) serve() (stop func(), err error) {
	metrics := http.NewServeMux()
	healthz.Metrics(metrics, &a.metrics)
	health := healthz.Mux("it runs", func(http.Header) (string, error) {
		_, err := a.folder.Read()
		return "there are settings", err
	})
	var stops []func()
	stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	for address, handler := range map[string]http.Handler{a.MetricsAddress: metrics, a.HealthAddress: health} {
		if address == "0" {
			continue
		}
		one, err := healthz.ListenAndServe(address, handler)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, one)
	}
	return stop, nil
}
