package probe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// What is asked is little, and seldom: nodes have the same images, and pods of an agent the same hub.
const (
	discoverEvery = time.Hour
	discoverAgain = 5 * time.Minute // after an error
	nodesAsked    = 20
	podsAsked     = 3 // for each selector
	maxDiscovered = 10
)

// discovery finds targets that the cluster names itself: the registries of the images on its nodes, and the hubs that agents of
// reverse tunnels dial.
type discovery struct {
	reader client.Reader // without caches
	agents []labels.Selector
	log    *slog.Logger

	due  time.Time
	last []probe.Target
}

// newDiscovery takes selectors of agents as kubectl does.
func newDiscovery(reader client.Reader, selectors []string, log *slog.Logger) (*discovery, error) {
	d := &discovery{reader: reader, log: log}
	for _, text := range selectors {
		selector, err := labels.Parse(text)
		if err != nil {
			return nil, err
		}
		d.agents = append(d.agents, selector)
	}
	return d, nil
}

// read returns the targets that are known, and asks again if it is time. If asking fails, the known targets stay.
func (d *discovery) read(ctx context.Context, at time.Time) []probe.Target {
	switch {
	case d == nil:
		return nil
	case at.Before(d.due):
		return d.last
	}
	registries, err := d.registries(ctx)
	hubs, hubsErr := d.hubs(ctx)
	if err = errors.Join(err, hubsErr); err != nil {
		d.due = at.Add(discoverAgain)
		d.log.Error("registries and hubs of tunnels are not looked for", "reason", err)
		return d.last
	}
	d.due, d.last = at.Add(discoverEvery), slices.Concat(registries, hubs)
	return d.last
}

// registries returns the registries of the images that the kubelets report; they write each with its registry.
func (d *discovery) registries(ctx context.Context) ([]probe.Target, error) {
	nodes := &corev1.NodeList{}
	if err := d.reader.List(ctx, nodes, client.Limit(nodesAsked)); err != nil {
		return nil, err
	}
	images := map[string]int{}
	for _, node := range nodes.Items {
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				if host, _, ok := strings.Cut(name, "/"); ok {
					images[host]++
				}
			}
		}
	}
	hosts := slices.SortedFunc(maps.Keys(images), func(a, b string) int { return cmp.Or(images[b]-images[a], strings.Compare(a, b)) })
	var urls []string
	for _, host := range hosts {
		if host == "docker.io" {
			host = "registry-1.docker.io" // containerd, core/remotes/docker: DefaultHost
		}
		urls = append(urls, "https://"+host+"/v2/")
	}
	return reachable(urls), nil
}

// hubs are those outside of the cluster.
func (d *discovery) hubs(ctx context.Context) ([]probe.Target, error) {
	urls := map[string]bool{}
	for _, selector := range d.agents {
		pods := &corev1.PodList{}
		if err := d.reader.List(ctx, pods, client.MatchingLabelsSelector{Selector: selector}, client.Limit(podsAsked)); err != nil {
			return nil, err
		}
		for i := range pods.Items {
			for _, hub := range hubsOf(&pods.Items[i]) {
				urls["tcp://"+hub] = true
			}
		}
	}
	return reachable(slices.Sorted(maps.Keys(urls))), nil
}

// hubsOf reads command lines and variables; a pod that cannot be read has none.
func hubsOf(of *corev1.Pod) (hubs []string) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return nil
	}
	pod, _, err := tunnel.ReadPod(object)
	if err != nil {
		return nil
	}
	for _, container := range tunnel.Judge(tunnel.Input{Pod: pod}).Containers {
		if d, err := probe.ParseURL("tcp://" + container.Hub); err == nil && outside(d.Host) {
			hubs = append(hubs, container.Hub)
		}
	}
	return hubs
}

func outside(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return !address.IsLoopback()
	}
	return strings.Contains(host, ".") && !strings.HasSuffix(host, ".svc") && !strings.Contains(host, ".svc.")
}

// reachable are targets of those URLs that can be tried, at most so many.
func reachable(urls []string) (targets []probe.Target) {
	for _, url := range urls {
		target := probe.Target{URL: url, Expect: probe.Reachable}
		if len(targets) < maxDiscovered && target.Check() == nil {
			targets = append(targets, target)
		}
	}
	return targets
}
