package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// The company's accounts, before and after the rotation.
const (
	firstUser, firstPassword   = "first", "spring"
	secondUser, secondPassword = "second", "summer"
)

// rotation has the running parts of the demo with the relay.
type rotation struct {
	started func(context.Context) error // awaits startRelay
	company *company
	relay   *deployment.Relay
	shopper *shopper
	rows    [][]string
}

// startRelay starts the company's proxy, and a pod of the relay, which no pod names yet.
func (s *stage) startRelay(ctx context.Context) error {
	company, err := startCompany()
	if err != nil {
		return err
	}
	s.running.add(company)
	s.rotation.company = company
	company.allow(map[string]string{firstUser: firstPassword})
	if err := s.setRelay(ctx, s.proxyOf(firstUser, firstPassword), "", "--set=relay.enabled=true"); err != nil {
		return err
	}
	relay, err := deployment.StartRelay(ctx, s.cp, system)
	if err != nil {
		return err
	}
	s.running.add(relay)
	s.rotation.relay = relay
	return nil
}

// useRelay makes the policies name the relay, which has been starting meanwhile.
func (s *stage) useRelay(ctx context.Context) error {
	if err := s.rotation.started(ctx); err != nil {
		return err
	}
	if err := s.setRelay(ctx, s.proxyOf(firstUser, firstPassword), "", "--set=carry=Relay"); err != nil {
		return err
	}
	return s.createCart(ctx)
}

func (s *stage) proxyOf(user, password string) string {
	return (&url.URL{Scheme: "http", User: url.UserPassword(user, password), Host: s.rotation.company.address}).String()
}

// setRelay upgrades the chart with the list that the cluster has now, the URL, and the one of before.
func (s *stage) setRelay(ctx context.Context, current, previous string, more ...string) error {
	secret, err := s.secret(ctx, clusters, names[0]+render.ValuesSuffix)
	if err != nil {
		return err
	}
	_, err = s.run(ctx, secret.Data[render.ValuesKey], "helm", append([]string{
		"upgrade", "fairlead-policies", "charts/fairlead-policies", "-n", system, "--reset-then-reuse-values", "-f", "-",
		"--set=proxy.http=" + current, "--set=proxy.https=" + current,
		"--set=proxy.previous.http=" + previous, "--set=proxy.previous.https=" + previous,
	}, more...)...)
	return err
}

// createCart awaits that the API server asks the changed policy.
func (s *stage) createCart(ctx context.Context) error {
	err := poll(ctx, "a pod to be given the relay", func(ctx context.Context) (bool, error) {
		try := podOf("cart")
		err := s.client.Create(ctx, try, client.DryRunAll)
		return err == nil && len(try.Spec.Containers[0].Env) > 0 && try.Spec.Containers[0].Env[0].Value != "", err
	})
	if err != nil {
		return err
	}
	return s.client.Create(ctx, podOf("cart"))
}

func (s *stage) showRelay(ctx context.Context) error {
	pod, err := s.stored(ctx, shop, "cart")
	if err != nil {
		return err
	}
	upgrade := "upgrade fairlead-policies charts/fairlead-policies -n " + system + " --reset-then-reuse-values "
	s.command(valuesCommand+upgrade+"-f - --set relay.enabled=true --wait", "helm "+upgrade+"--set carry=Relay")
	s.say("The variables of a new pod, as stored: no password.\n")
	s.table(variables(pod, &corev1.Secret{}))
	return nil
}

// rotate changes the password while a program of the pod goes on.
func (s *stage) rotate(ctx context.Context) error {
	r := &s.rotation
	r.rows = [][]string{{"what happens", "process of the relay", "requests", "failed", "account at the proxy"}}
	r.shopper = startShopper(r.relay.Address)
	defer r.shopper.end()
	if err := s.seen(ctx, "the first password", firstUser); err != nil {
		return err
	}
	r.company.allow(map[string]string{firstUser: firstPassword, secondUser: secondPassword})
	if err := s.setRelay(ctx, s.proxyOf(secondUser, secondPassword), s.proxyOf(firstUser, firstPassword)); err != nil {
		return err
	}
	if err := s.seen(ctx, "the second one is set", secondUser); err != nil {
		return err
	}
	r.company.allow(map[string]string{secondUser: secondPassword})
	return s.seen(ctx, "the first one is revoked", secondUser)
}

// seen adds a row once the proxy has served more requests of a user.
func (s *stage) seen(ctx context.Context, what, user string) error {
	r := &s.rotation
	before := r.company.count(user)
	err := poll(ctx, what, func(context.Context) (bool, error) { return r.company.count(user) > before+20, nil })
	r.rows = append(r.rows, []string{what, fmt.Sprint(r.relay.Relay.PID()), fmt.Sprint(r.shopper.done.Load()), fmt.Sprint(r.shopper.failed.Load()), user})
	if err != nil {
		return fmt.Errorf("%w; of %d requests %d failed: %v", err, r.shopper.done.Load(), r.shopper.failed.Load(), r.shopper.why.Load())
	}
	return nil
}

func (s *stage) showRotation(context.Context) error {
	s.say("A program of the pod asks all the time. A stand-in plays the company's proxy here; the tests have squid.\n")
	s.table(s.rotation.rows)
	s.say("\nNo pod was restarted, no machine replaced. Only the Secret fairlead-source has changed.")
	return nil
}

// shopper is the pod's program. There is no network of pods: it connects to the relay where the Service would lead it.
type shopper struct {
	end          context.CancelFunc
	done, failed atomic.Int64
	why          atomic.Value // error of the latest that failed
}

func startShopper(relay string) *shopper {
	ctx, end := context.WithCancel(context.Background())
	s := &shopper{end: end}
	proxy := &url.URL{Scheme: "http", User: url.User(shop), Host: relay}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}, Timeout: 10 * time.Second}
	go func() {
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if _, err := process.GetBy(ctx, client, "http://example.net/"); err != nil && ctx.Err() == nil {
				s.failed.Add(1)
				s.why.Store(err)
			}
			s.done.Add(1)
		}
	}()
	return s
}
