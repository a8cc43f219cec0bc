package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

const name = "fairlead-probe"

// cluster is a control plane with both the relay and the probe of the chart, in the place of a node's pods, behind a real squid.
type cluster struct {
	*site
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
	relay   *deployment.Relay
	probe   *deployment.Replica
	closed  string // nobody listens there
	targets string // file
}

// forbidden is a port that squid does not let through.
const forbidden = "tcp://" + machine.InternetName + ":22"

func newCluster(t *testing.T) *cluster {
	t.Helper()
	authority := authorities(t, "Sites")[0]
	c := &cluster{site: newSite(t, authority, machine.SquidOptions{}), cp: controlplanetest.Start(t, controlplane.Options{}), targets: filepath.Join(t.TempDir(), "targets.yaml")}
	c.clients = controlplanetest.Clients(t, c.cp)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, func(ctx context.Context) (net.Conn, error) {
		return c.network.Dial(ctx, machine.Corp, machine.ProxyAddress+":3128")
	})
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	c.closed = "tcp://" + port.Address()
	proxy := "http://" + user + ":" + password + "@" + listener.Addr().String()
	controlplanetest.Require(t, policies.Install(t.Context(), c.cp, map[string]any{
		"engine": "Native", "carry": "Relay", "trustedCA": map[string]any{"bundle": string(authority.PEM())},
		"cluster": map[string]any{
			"proxy": map[string]any{"http": proxy, "https": proxy, "noProxy": "127.0.0.1,.svc"},
			"probes": map[string]any{"targets": []any{
				map[string]any{"url": target, "expect": "Reachable", "route": "Proxied"},
				map[string]any{"url": forbidden, "expect": "Unreachable", "route": "Proxied"},
			}},
		},
		"probe": map[string]any{"enabled": true, "period": "10s", "targets": []any{map[string]any{"url": c.closed, "expect": "Unreachable", "route": "Direct"}}},
	}))
	controlplanetest.Require(t, c.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	c.relay, err = deployment.StartRelay(t.Context(), c.cp, policies.Namespace)
	controlplanetest.Require(t, err)
	c.node(t, "with", c.relay.Address)
	c.node(t, "without", "")
	c.start(t)
	return c
}

// node stands for a machine with the label of linux, and the pod of its relay: there is no kubelet.
func (c *cluster) node(t *testing.T, name, relay string) {
	t.Helper()
	_, err := c.clients.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: "linux"}}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	if relay == "" {
		return
	}
	daemons, err := c.clients.AppsV1().DaemonSets(policies.Namespace).Get(t.Context(), "fairlead-relay", metav1.GetOptions{})
	controlplanetest.Require(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "fairlead-relay-", Namespace: policies.Namespace, Labels: daemons.Spec.Template.Labels}, Spec: daemons.Spec.Template.Spec}
	pod.Spec.NodeName, pod.Spec.PriorityClassName = name, ""
	host, port, err := net.SplitHostPort(relay)
	controlplanetest.Require(t, err)
	number, err := strconv.Atoi(port)
	controlplanetest.Require(t, err)
	pod.Spec.Containers[0].Ports[0].ContainerPort = int32(number)
	pod, err = c.clients.CoreV1().Pods(policies.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	pod.Status = corev1.PodStatus{PodIP: host, PodIPs: []corev1.PodIP{{IP: host}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	_, err = c.clients.CoreV1().Pods(policies.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
}

// name makes the cluster name a registry and a hub: by an image on a node, and by the arguments of an agent.
func (c *cluster) name(t *testing.T) {
	t.Helper()
	node, err := c.clients.CoreV1().Nodes().Get(t.Context(), "with", metav1.GetOptions{})
	controlplanetest.Require(t, err)
	node.Status.Images = []corev1.ContainerImage{{Names: []string{machine.InternetName + "/agent:1"}}}
	_, err = c.clients.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	agent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "konnectivity-agent", Namespace: metav1.NamespaceSystem, Labels: map[string]string{"k8s-app": "konnectivity-agent"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "konnectivity-agent", Image: "agent", Command: []string{"/proxy-agent"}, Args: []string{"--proxy-server-host=" + machine.HubName, "--proxy-server-port=443"},
		}}},
	}
	_, err = c.clients.CoreV1().Pods(agent.Namespace).Create(t.Context(), agent, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}

// start runs the Deployment's command. What would be mounted is the file that the chart made, and the settings of the relay.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	installed, err := c.clients.AppsV1().Deployments(policies.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	list, err := c.clients.CoreV1().ConfigMaps(policies.Namespace).Get(t.Context(), name+"-targets", metav1.GetOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, os.WriteFile(c.targets, []byte(list.Data["targets.yaml"]), 0o600))
	api, err := url.Parse(c.cp.Admin().Host)
	controlplanetest.Require(t, err)
	container := installed.Spec.Template.Spec.Containers[0]
	c.probe, err = deployment.Run(t.Context(), c.cp, deployment.Spec{
		Namespace: policies.Namespace, ServiceAccount: installed.Spec.Template.Spec.ServiceAccountName,
		Command: slices.Concat(container.Command, container.Args, []string{"--folder=" + filepath.Join(c.relay.Folder, "settings"), "--targets=" + c.targets}),
		Env:     []string{"KUBERNETES_SERVICE_HOST=" + api.Hostname(), "KUBERNETES_SERVICE_PORT=" + api.Port()},
	})
	controlplanetest.Require(t, err)
}

// result returns the published result.
func (c *cluster) result(ctx context.Context) (probe.Result, error) {
	object, err := c.clients.CoreV1().ConfigMaps(policies.Namespace).Get(ctx, probe.ConfigMapName, metav1.GetOptions{})
	if err != nil {
		return probe.Result{}, err
	}
	if strings.Contains(object.Data[probe.ResultKey], password) {
		return probe.Result{}, errors.New("it has the password")
	}
	return probe.Decode([]byte(object.Data[probe.ResultKey]))
}

// await waits for a result, and looks at each that is published meanwhile.
func (c *cluster) await(t *testing.T, what string, condition, each func(probe.Result) error) probe.Result {
	t.Helper()
	var last probe.Result
	controlplanetest.Await(t, what, func(ctx context.Context) (bool, error) {
		result, err := c.result(ctx)
		if err != nil {
			return false, err
		}
		last = result
		if each != nil {
			if err := each(result); err != nil {
				t.Fatal(err)
			}
		}
		err = condition(result)
		return err == nil, err
	})
	return last
}

func allHeld(r probe.Result) error {
	if len(r.Targets) != 4 {
		return fmt.Errorf("%d targets", len(r.Targets))
	}
	for _, target := range r.Targets {
		if target.State != probe.Held {
			return fmt.Errorf("%+v", target)
		}
	}
	if r.Nodes == nil || r.Nodes.Total != 2 || r.Nodes.Verified != 1 || r.Nodes.Failed != 0 || len(r.Nodes.Worst) != 0 {
		return fmt.Errorf("%+v", r.Nodes)
	}
	return nil
}

// sound: what must not be reached is never said to be, and counts as held only beside something that was.
func sound(r probe.Result) error {
	held := map[string]bool{}
	for _, target := range r.Targets {
		held[target.URL] = target.State == probe.Held
		if target.Expect == probe.Unreachable && target.State == probe.Failed {
			return fmt.Errorf("a false alarm: %+v", target)
		}
	}
	if held[forbidden] && !held[target] {
		return fmt.Errorf("it holds without a control: %+v", r.Targets)
	}
	return nil
}

// The whole of it on a control plane: what the chart installs runs with the rights that it gives.
func TestAClusterPublishesWhatItReaches(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first := c.await(t, "a round in which everything holds", allHeld, sound)
	if first.Period != "10s" || first.Targets[0].Route != probe.Direct || !strings.HasPrefix(first.Targets[0].URL, "https://127.0.0.1:") {
		t.Errorf("%+v", first)
	}
	for _, want := range []string{
		`fairlead_probe_target_up{expect="Reachable",route="Proxied",url="` + target + `"} 1`,
		`fairlead_probe_target_up{expect="Unreachable",route="Proxied",url="` + forbidden + `"} 1`,
		`fairlead_probe_nodes{state="verified"} 1`, `fairlead_probe_nodes{state="unknown"} 1`,
		`fairlead_probe_inputs_stale 0`,
	} {
		c.awaitMetric(t, want)
	}
	c.checkWrites(t)

	t.Run("squid restarts", func(t *testing.T) {
		controlplanetest.Require(t, c.squid.Stop())
		c.await(t, "squid's end and the node's to be seen", func(r probe.Result) error {
			if err := failed(r, target); err != nil {
				return err
			}
			if r.Nodes.Failed != 1 || len(r.Nodes.Worst) != 1 || r.Nodes.Worst[0].Name != "with" || r.Nodes.Worst[0].Outages[0].End != nil {
				return fmt.Errorf("%+v", r.Nodes)
			}
			return nil
		}, sound)
		controlplanetest.Require(t, c.squid.Start(t.Context()))
		again := c.await(t, "everything to hold again", func(r probe.Result) error {
			if r.Nodes.Verified != 1 || len(r.Nodes.Worst) != 1 || r.Nodes.Worst[0].Outages[0].End == nil {
				return fmt.Errorf("%+v", r.Nodes)
			}
			r.Nodes.Worst = nil
			return allHeld(r)
		}, sound)
		if !again.Since.Equal(first.Since) || again.Targets[1].LastFailure == nil {
			t.Errorf("%+v", again)
		}
	})
	t.Run("the API server restarts", func(t *testing.T) {
		before, err := c.result(t.Context())
		controlplanetest.Require(t, err)
		controlplanetest.Require(t, c.cp.StopAPIServer())
		controlplanetest.Require(t, c.cp.StartAPIServer(t.Context()))
		c.await(t, "two rounds after it", func(r probe.Result) error {
			if !r.Time.After(before.Time.Add(2 * 10e9)) {
				return fmt.Errorf("the latest is of %s", r.Time)
			}
			r.Nodes.Worst = nil
			return allHeld(r)
		}, sound)
	})
	t.Run("the targets change, and one is wrong", func(t *testing.T) {
		controlplanetest.Require(t, os.WriteFile(c.targets, []byte("- {url: "+target+", expect: Reachable}\n- {url: \"tcp://x\", expect: Reachable}\n"), 0o600))
		c.await(t, "the others to be tried", func(r probe.Result) error {
			if len(r.Targets) != 2 || r.Targets[1].URL != target || r.Targets[1].Route != "" || r.Targets[1].State != probe.Held {
				return fmt.Errorf("%+v", r.Targets)
			}
			return nil
		}, nil)
		c.awaitMetric(t, "fairlead_probe_inputs_stale 1") // the mistake
	})
	t.Run("another process goes on with it", func(t *testing.T) {
		controlplanetest.Require(t, c.probe.Stop())
		before, err := c.result(t.Context())
		controlplanetest.Require(t, err)
		c.name(t)
		c.start(t)
		after := c.await(t, "its first result, with what the cluster names and nobody lists", func(r probe.Result) error {
			if len(r.Targets) != 5 || r.Targets[4].URL != "tcp://"+machine.HubName+":443" || r.Targets[4].State != probe.Held || !r.Time.After(before.Time) {
				return fmt.Errorf("%+v", r)
			}
			return nil
		}, nil)
		// A busy machine may take longer than two periods to start it. Then there was a gap, and it has to say so.
		if gap := after.Time.Sub(before.Time) > 20e9; gap == after.Since.Equal(before.Since) {
			t.Errorf("since %s before, at %s; since %s after, at %s", before.Since, before.Time, after.Since, after.Time)
		}
	})
	t.Run("a stolen token may do exactly what is listed", c.checkRights)
}

func failed(r probe.Result, url string) error {
	for _, target := range r.Targets {
		if target.URL == url && target.State == probe.Failed {
			return nil
		}
	}
	return fmt.Errorf("%+v", r.Targets)
}

func (c *cluster) awaitMetric(t *testing.T, want string) {
	t.Helper()
	controlplanetest.Await(t, "the metric "+want, func(ctx context.Context) (bool, error) {
		text, err := c.probe.Metrics(ctx)
		if err == nil && !strings.Contains(text, want) {
			err = fmt.Errorf("it is not in:\n%s", text)
		}
		return err == nil, err
	})
}

// checkWrites: it writes once a period. What it may write is in checkRights.
func (c *cluster) checkWrites(t *testing.T) {
	t.Helper()
	began := time.Now()
	mark, err := c.cp.AuditMark()
	controlplanetest.Require(t, err)
	before, err := c.result(t.Context())
	controlplanetest.Require(t, err)
	c.await(t, "three rounds", func(r probe.Result) error {
		if !r.Time.After(before.Time.Add(25e9)) {
			return fmt.Errorf("the latest is of %s", r.Time)
		}
		return nil
	}, sound)
	events, err := c.cp.AuditEvents(mark, controlplane.ByUser(controlplane.ServiceAccountUser(policies.Namespace, name)), controlplane.Writes)
	controlplanetest.Require(t, err)
	took := time.Since(began) // three periods, or more on a busy machine
	if most := int(took/(10*time.Second)) + 2; len(events) < 2 || len(events) > most {
		t.Errorf("%d writes in %s, and not 2 to %d", len(events), took, most)
	}
}
