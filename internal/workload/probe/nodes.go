package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// What the nodes cost is bounded: attempts a second in all, whatever the number of nodes and targets, and connections at a time.
// With more nodes, a round takes longer than a period.
const (
	attemptsPerSecond = 50
	nodesAtATime      = 32
	relayPort         = "proxy" // by its name
	healthPort        = "health"
	relayUser         = "fairlead-probe" // to a relay, the user is a namespace
	suspectAfter      = 5 * time.Second  // a node that failed is tried once more, before it counts
)

// fleet knows the nodes that have a relay, and which of them are due.
type fleet struct {
	pods, nodes cache.Store
	synced      func() bool

	mutex   sync.Mutex
	last    map[string]time.Time // tries, by node
	suspect map[string]bool
}

// watchFleet follows the relays' pods of the namespace, and names and ages of nodes.
func watchFleet(ctx context.Context, config *rest.Config, opts Options) (*fleet, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadatas, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	labelled := func(selector string) func(*metav1.ListOptions) {
		return func(o *metav1.ListOptions) { o.LabelSelector = selector }
	}
	pods := informers.NewFilteredPodInformer(clients, opts.Namespace, 0, nil, labelled(opts.RelaySelector))
	resource := corev1.SchemeGroupVersion.WithResource("nodes")
	nodes := metadatainformer.NewFilteredMetadataInformer(metadatas, resource, metav1.NamespaceAll, 0, nil, labelled(opts.NodeSelector)).Informer()
	if err := errors.Join(pods.SetTransform(placeOfPod), nodes.SetTransform(ageOfNode)); err != nil {
		return nil, err
	}
	go pods.RunWithContext(ctx)
	go nodes.RunWithContext(ctx)
	return &fleet{
		pods: pods.GetStore(), nodes: nodes.GetStore(), last: map[string]time.Time{}, suspect: map[string]bool{},
		synced: func() bool { return pods.HasSynced() && nodes.HasSynced() },
	}, nil
}

// portOf returns where the relay listens.
func portOf(pod *corev1.Pod, name, otherwise string) string {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == name {
				return strconv.Itoa(int(port.ContainerPort))
			}
		}
	}
	return otherwise
}

// placeOfPod is all that is kept of a pod.
func placeOfPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	var ports []corev1.ContainerPort
	for _, container := range pod.Spec.Containers {
		ports = append(ports, container.Ports...)
	}
	var readiness []corev1.PodCondition
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			readiness = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: []corev1.Container{{Ports: ports}}},
		Status: corev1.PodStatus{PodIP: pod.Status.PodIP, Conditions: readiness},
	}, nil
}

func ageOfNode(object any) (any, error) {
	node, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: node.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, ResourceVersion: node.ResourceVersion, CreationTimestamp: node.CreationTimestamp,
	}}, nil
}

// await waits until the nodes are known, for so long at most: a result without them says that no node is tried, and takes the
// condition of every Machine back.
func (f *fleet) await(ctx context.Context, atMost time.Duration) {
	for until := time.Now().Add(atMost); !f.synced() && time.Now().Before(until) && pause(ctx, 50*time.Millisecond); {
	}
}

// created returns the nodes with their creation; nil until they are known.
func (f *fleet) created() map[string]time.Time {
	if f == nil || !f.synced() {
		return nil
	}
	created := map[string]time.Time{}
	for _, object := range f.nodes.List() {
		node := object.(*metav1.PartialObjectMetadata)
		created[node.Name] = node.CreationTimestamp.Time
	}
	return created
}

// relayAt is where a relay listens; nothing if there is none.
type relayAt struct{ proxy, health string }

// relays returns the addresses of the relays by node. While one relay replaces another, it is the one that is ready.
func (f *fleet) relays() map[string]relayAt {
	best, address := map[string]int{}, map[string]relayAt{}
	for _, object := range f.pods.List() {
		pod := object.(*corev1.Pod)
		if pod.Spec.NodeName == "" || pod.Status.PodIP == "" {
			continue
		}
		rank := 1
		if len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == corev1.ConditionTrue {
			rank = 3
		}
		if pod.DeletionTimestamp != nil {
			rank--
		}
		if rank > best[pod.Spec.NodeName] {
			best[pod.Spec.NodeName], address[pod.Spec.NodeName] = rank, relayAt{
				net.JoinHostPort(pod.Status.PodIP, portOf(pod, relayPort, "3128")), net.JoinHostPort(pod.Status.PodIP, portOf(pod, healthPort, "8099")),
			}
		}
	}
	return address
}

// due returns the nodes to try next, at most so many: suspects, for one may be the first of many, then those that were never tried,
// then those whose last try is the longest ago.
func (f *fleet) due(now time.Time, created map[string]time.Time, period time.Duration, atMost int) []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	type turn struct {
		rank int
		last int64
		name string
	}
	var turns []turn
	for name := range created {
		after, rank := period, 1
		if f.suspect[name] {
			after, rank = suspectAfter, 0
		}
		if last := f.last[name]; now.Sub(last) >= after {
			turns = append(turns, turn{rank, last.UnixNano(), name})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(a.rank-b.rank, cmp.Compare(a.last, b.last), strings.Compare(a.name, b.name))
	})
	var due []string
	for _, turn := range turns[:min(len(turns), atMost)] {
		due = append(due, turn.name)
		f.last[turn.name] = now
	}
	for name := range f.last {
		if _, ok := created[name]; !ok { // it is gone
			delete(f.last, name)
			delete(f.suspect, name)
		}
	}
	return due
}

// counts reports whether the observation of a node counts: a failure does if it is the second one in a row.
func (f *fleet) counts(name string, results []probe.TargetResult) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	suspect := f.suspect[name]
	failed := slices.ContainsFunc(results, func(r probe.TargetResult) bool { return r.State != probe.Held && r.Reason != probe.Reached })
	f.suspect[name] = failed && !suspect
	return !failed || suspect
}

// throughRelay returns the targets that a relay is asked for: what the settings lead through the proxy, and what must not be reached
// that way.
func throughRelay(targets []probe.Target, choose chooser) []probe.Target {
	var through []probe.Target
	for _, target := range targets {
		destination, err := probe.ParseURL(target.URL)
		if err != nil || target.Route == probe.Direct {
			continue
		}
		if way, _ := choose(destination); way == probe.Proxied || target.Expect == probe.Unreachable {
			target.Route = probe.Proxied
			through = append(through, target)
		}
	}
	return through
}

// relaySettings returns settings that lead through one relay alone. The authorities stay: the destinations are the
// same.
func relaySettings(address string, of *upstream.Settings) (*upstream.Settings, error) {
	u, err := proxyurl.Parse(fmt.Sprintf("http://%s:_@%s", relayUser, address))
	if err != nil {
		return nil, err
	}
	proxy, err := upstream.NewProxy(u)
	if err != nil {
		return nil, err
	}
	return &upstream.Settings{HTTP: proxy, HTTPS: proxy, Authorities: of.Authorities}, nil
}
