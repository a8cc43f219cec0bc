package preflight

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	attempts "github.com/fairlead-io/fairlead/internal/workload/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// How long a stage of an attempt may take, and all attempts with one revision: both together are less than the operator
// waits for.
const (
	stage = 5 * time.Second
	whole = 45 * time.Second
)

// tries is how long passes between two attempts at what failed.
type tries time.Duration

const retry = tries(2 * time.Second)

// both tries a revision, and where it fails, what clusters have. Rests: the proxy refused that lately; it is not asked again.
func (t tries) both(ctx context.Context, task probe.Task, rests bool) (state probe.State, reason probe.Reason, message string, refused bool) {
	candidate, err := t.way(ctx, task.Candidate, task.Targets)
	if err != nil {
		return probe.Failed, probe.ProxyNotHTTP, err.Error(), false
	}
	failed := slices.ContainsFunc(candidate, func(r probe.TargetResult) bool { return r.State != probe.Held })
	same := failed && task.Control != nil && task.Control.Same(task.Candidate)
	var control []probe.TargetResult
	if failed && task.Control != nil && !same {
		control, refused = t.control(ctx, task, candidate, rests)
	}
	state, reason, message = probe.JudgeRevision(candidate, control, same)
	return state, reason, message, refused
}

// control tries what clusters have, to compare with; nil: there is nothing to compare, or it is not needed.
func (t tries) control(ctx context.Context, task probe.Task, candidate []probe.TargetResult, rests bool) (control []probe.TargetResult, refused bool) {
	isRefused := func(r probe.TargetResult) bool { return r.Reason == probe.CredentialsRefused }
	if slices.ContainsFunc(candidate, isRefused) { // that is an answer, whatever comes of the control
		return nil, false
	}
	if rests {
		for _, result := range candidate {
			control = append(control, probe.TargetResult{Target: result.Target, State: probe.Failed, Reason: probe.CredentialsRefused})
		}
		return control, true
	}
	tried, err := t.way(ctx, *task.Control, task.Targets)
	if err != nil || len(tried) == 0 {
		return nil, false
	}
	for i := range candidate { // of a way with more proxies, or fewer, the first is that for https
		control = append(control, tried[min(i, len(tried)-1)])
	}
	return control, slices.ContainsFunc(tried, isRefused)
}

// way tries all targets in one way. Of a way that leads to another number of proxies there are other results.
func (t tries) way(ctx context.Context, way probe.Way, targets []probe.Target) ([]probe.TargetResult, error) {
	ctx, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	settings, err := settingsOf(way)
	if err != nil {
		return nil, err
	}
	if len(targets) > 0 {
		return t.round(ctx, settings, targets)
	}
	var all []probe.TargetResult
	for _, proxy := range proxies(settings) {
		// Port 443 of its own name: most proxies allow that port, ask for the password, and find nobody there.
		target := probe.Target{URL: "tcp://" + net.JoinHostPort(proxy.URL.Host(), "443"), Expect: probe.Reachable, Route: probe.Proxied}
		results, err := t.round(ctx, &upstream.Settings{HTTPS: proxy, Authorities: settings.Authorities}, []probe.Target{target})
		if err != nil {
			return nil, err
		}
		all = append(all, probe.OfProxyItself(results[0]))
	}
	return all, nil
}

func (t tries) round(ctx context.Context, settings *upstream.Settings, targets []probe.Target) ([]probe.TargetResult, error) {
	return attempts.Round{Prober: attempts.NewProber(stage), Settings: settings, Client: attempts.RelayClient, Retry: time.Duration(t)}.Try(ctx, targets)
}

// proxies returns the proxies of the settings, each once.
func proxies(s *upstream.Settings) []upstream.Proxy {
	all := []upstream.Proxy{s.HTTPS, s.HTTP}
	if s.HTTP.URL.Equal(s.HTTPS.URL) {
		all = all[:1]
	}
	return slices.DeleteFunc(all, func(p upstream.Proxy) bool { return p.URL.IsZero() })
}

// settingsOf has no NO_PROXY: all targets are those that go through the proxy.
func settingsOf(way probe.Way) (*upstream.Settings, error) {
	plain, err := proxyOf(way.HTTP)
	if err != nil {
		return nil, err
	}
	secure, err := proxyOf(way.HTTPS)
	return &upstream.Settings{HTTP: plain, HTTPS: secure, Authorities: func() (*x509.CertPool, error) {
		pool, ok := upstream.AuthoritiesWith(way.TrustedCA)
		if !ok {
			return nil, errors.New("there is no certificate in the bundle of spec.trustedCARef")
		}
		return pool, nil
	}}, err
}

func proxyOf(text string) (upstream.Proxy, error) {
	u, err := proxyurl.Parse(text)
	if err != nil || u.IsZero() {
		return upstream.Proxy{}, err
	}
	return upstream.NewProxy(u)
}
