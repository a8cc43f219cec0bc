package policies_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const (
	missing    = ": has none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. The pod is older than the policy inject-proxy-env, or was let in without it: replace the pod"
	leftOut    = "gets no HTTP_PROXY, HTTPS_PROXY and NO_PROXY: "
	injectKey  = "policies.kyverno.io/inject-proxy-env"
	auditedURL = "http://me:S3CRET@proxy.example:3128"
	badEntries = "the annotation fairlead.io/no-proxy has a blank within an entry, or a URL: write names and networks, with commas between them"
)

// audited is a pod, and what its report says by policy; what is not mentioned passes.
type audited struct {
	pod   corev1.Pod
	mend  string // of audit-proxy-env, which fails
	watch string // of audit-proxy-unreached, which warns
	agent string // of audit-tunnels, which fails
}

func auditedPods() []audited {
	plain := func(name string, env ...corev1.EnvVar) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web", Env: env}}},
		}
	}
	with := func(pod corev1.Pod, change func(*corev1.Pod)) corev1.Pod {
		change(&pod)
		return pod
	}
	excluded := func(pod *corev1.Pod) { pod.Annotations = map[string]string{injectKey: "exclude"} }
	noProxy := corev1.EnvVar{Name: "NO_PROXY", Value: ".svc"}
	return []audited{
		{pod: plain("without"), mend: "container web" + missing},
		{pod: plain("injected", injected()...)},
		{
			pod: with(plain("may-have-its-own"), func(pod *corev1.Pod) {
				source := corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "oauth2-proxy"}}
				pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &source}}
			}),
			mend: "container web" + missing, // it would get ours below its own
		},
		{pod: with(plain("finished"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })},
		{pod: plain("own", corev1.EnvVar{Name: "http_proxy", Value: "http://proxy.example:3128"}, noProxy)},
		{
			pod: with(plain("sidecar", injected()...), func(pod *corev1.Pod) {
				always := corev1.ContainerRestartPolicyAlways
				pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "first"}, {Name: "side", Image: "side", RestartPolicy: &always}}
			}),
			mend: "container first" + missing + "; container side" + missing,
		},
		{
			pod:  plain("password", corev1.EnvVar{Name: "HTTP_PROXY", Value: auditedURL}, corev1.EnvVar{Name: "https_proxy", Value: auditedURL}, noProxy),
			mend: "container web: has a password in HTTP_PROXY, https_proxy, for all to read who may read pods: refer to a Secret instead",
		},
		{
			pod:   with(plain("password-excluded", corev1.EnvVar{Name: "no_proxy", Value: ".svc," + auditedURL}), excluded),
			mend:  "container web: has a password in no_proxy, for all to read who may read pods: refer to a Secret instead",
			watch: leftOut + "annotation policies.kyverno.io/inject-proxy-env=exclude",
		},
		{
			pod:  plain("no-no-proxy", corev1.EnvVar{Name: "ALL_PROXY", Value: "http://proxy.example:3128"}),
			mend: "container web: sets ALL_PROXY and no NO_PROXY, and so sends what is inside the cluster to the proxy: set NO_PROXY, too",
		},
		{pod: plain("asked", asked([]corev1.EnvVar{{Name: "NO_PROXY", Value: "a,$(FAIRLEAD_NO_PROXY)"}}, injected())...)},
		{
			pod:  plain("asked-in-vain", corev1.EnvVar{Name: "no_proxy", Value: "a,$(FAIRLEAD_NO_PROXY)"}),
			mend: "container web: sets NO_PROXY to $(FAIRLEAD_NO_PROXY), and has no such variable. The pod is older than that, or one of NO_PROXY and no_proxy does not name it: name it in both, and replace the pod",
		},
		{pod: with(plain("entries", injected()...), listed(" a.example , 10.0.0.0/8,"))},
		{pod: with(plain("entries-with-blanks", injected()...), listed("a.example b.example")), mend: badEntries},
		{pod: with(plain("entries-with-urls", injected()...), listed("a.example,https://b.example")), mend: badEntries},
		{pod: with(plain("opted-out"), excluded), watch: leftOut + "annotation policies.kyverno.io/inject-proxy-env=exclude"},
		{
			pod:   with(plain("labelled-out"), func(pod *corev1.Pod) { pod.Labels = map[string]string{injectKey: "exclude"} }),
			watch: leftOut + "label policies.kyverno.io/inject-proxy-env=exclude",
		},
		{
			pod:   with(plain("on-the-node"), func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }),
			watch: leftOut + "is on the network of its node, and does not ask for it",
		},
		{
			pod: with(plain("on-the-node-asking"), func(pod *corev1.Pod) {
				pod.Spec.HostNetwork, pod.Annotations = true, map[string]string{injectKey: "include"}
			}),
			mend: "container web" + missing,
		},
		{pod: plain("capi-controller-manager-0"), watch: leftOut + "its name matches ^capi-controller-manager-.*$"},
		{
			pod: with(plain("provider"), func(pod *corev1.Pod) {
				pod.Labels = map[string]string{"cluster.x-k8s.io/provider": "bootstrap-kubeadm"}
			}),
			watch: leftOut + "label cluster.x-k8s.io/provider=bootstrap-kubeadm",
		},
		{
			pod:   with(plain("dns"), func(pod *corev1.Pod) { pod.Namespace = metav1.NamespaceSystem }),
			watch: leftOut + "namespace kube-system",
		},
		{
			// Only a kubelet may create one; the API server takes the annotation from an administrator.
			pod: with(plain("etcd-cp-0"), func(pod *corev1.Pod) {
				pod.Namespace = metav1.NamespaceSystem
				pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
				pod.Spec.NodeName = "cp-0"
			}),
			watch: leftOut + "a static pod, which no policy reaches",
		},
		{
			pod: with(plain("monitoring", injected()...), func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Image = "quay.io/prometheus/alertmanager:v0.29.0"
			}),
			watch: "container web: Prometheus and Alertmanager read HTTP_PROXY only where their configuration says proxy_from_environment: true",
		},
		{
			pod:   plain("java", append(injected(), corev1.EnvVar{Name: "JAVA_TOOL_OPTIONS", Value: "-Xmx1g"})...),
			watch: "container web: Java does not read HTTP_PROXY: set http.proxyHost, https.proxyHost and http.nonProxyHosts, for instance in JAVA_TOOL_OPTIONS",
		},
	}
}

// auditedAgents are pods of tunnels, with variables, and the findings about them. In this test konnectivity-agent goes
// through a relay with targets.
func auditedAgents() []audited {
	const (
		byRelay   = ". Where it dials a name by TCP, fairlead-relay can lead it: label fairlead.io/tunnel: relay, annotation fairlead.io/relay-targets: host:port"
		unrelayed = "is to go through fairlead-relay and has none: "
		annotate  = ": write host:port into the annotation fairlead.io/relay-targets"

		alone = ": is to go through a sidecar fairlead-relay and has none: "

		unsetAgent = "container agent: is to read the proxy from HTTPS_PROXY or https_proxy and has none: "
	)
	environment := map[string]string{"fairlead.io/tunnel": "environment"}
	sidecars := map[string]string{"fairlead.io/tunnel": "sidecar"}
	chisels := map[string]string{"app": "chisel"}
	agent := func(name, container string, labels map[string]string, args ...string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "agent", Args: args, Env: injected()}}},
		}
	}
	konnectivity := func(name string, args ...string) corev1.Pod {
		return agent(name, "konnectivity-agent", tunnelLabels[konnectivity], args...)
	}
	unset := func(name, namespace string) corev1.Pod {
		pod := agent(name, "agent", environment)
		pod.Namespace, pod.Spec.Containers[0].Env = namespace, nil
		return pod
	}
	changed := func(pod corev1.Pod, change func(*corev1.Pod)) corev1.Pod {
		change(&pod)
		return pod
	}
	return []audited{
		{pod: agent("cloudflared", "cloudflared", nil, "tunnel", "run"), agent: "container cloudflared: cloudflared reads no proxy setting, and without --protocol http2 leaves by UDP" + byRelay},
		{
			pod:   changed(agent("vpn-shoot", "vpn-shoot-s0", map[string]string{"app": "vpn-shoot"}), func(pod *corev1.Pod) { pod.Namespace = metav1.NamespaceSystem }),
			agent: "container vpn-shoot-s0: the one proxy that its OpenVPN can have is the gateway of the seed" + byRelay,
			watch: leftOut + "namespace kube-system",
		},
		{pod: agent("kcp", "frpc", nil, "tcp", "--protocol=kcp"), agent: "container frpc: leaves by UDP, which no HTTP proxy and no relay carries: take a transport over TCP"},
		{pod: konnectivity("hub-by-address", "--proxy-server-host=192.0.2.1"), agent: unrelayed + "its hub is an address, which cannot be pointed to the relay: give the agent a name"},
		{pod: konnectivity("hub-in-a-variable", "--proxy-server-host=$(HUB)"), agent: unrelayed + "its hub is in a variable" + annotate},
		{pod: konnectivity("hub-in-a-shell", "-c", "proxy-agent --proxy-server-host=hub.example"), agent: unrelayed + "its arguments do not name the hub" + annotate},
		{pod: konnectivity("older-agent", "--proxy-server-host=hub.example"), agent: unrelayed + "the pod is older than the policy, or has decided otherwise by its host aliases or its volumes: replace the pod"},
		{
			pod:   changed(konnectivity("bad-annotation"), func(pod *corev1.Pod) { pod.Annotations = map[string]string{"fairlead.io/relay-targets": "hub.example"} }),
			agent: unrelayed + "the pod is older than the policy, or the annotation fairlead.io/relay-targets names nothing that can be relayed",
		},
		{
			pod:   changed(konnectivity("hub-at-443", "--proxy-server-host=hub.example", "--proxy-server-port=443"), func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }),
			watch: leftOut + "is on the network of its node, and does not ask for it",
			agent: unrelayed + "it is on the network of its node, where the relay cannot listen at its hub's port, below 1024: give the hub another, or take a proxy by http://",
		},
		{
			pod: changed(konnectivity("two-hubs", "--proxy-server-host=hub.example"), func(pod *corev1.Pod) {
				pod.Annotations = map[string]string{"fairlead.io/relay-targets": "hub.example:8091, other.example:8091"}
			}),
			agent: unrelayed + "it listens once on a port, and at 8099 for probes: give its hubs others",
		},
		{pod: konnectivity("port-in-a-variable", "--proxy-server-host=hub.example", "--proxy-server-port", "$(PORT)"), agent: unrelayed + "its hub is in a variable" + annotate},
		{
			pod: changed(konnectivity("windows", "--proxy-server-host=hub.example"), func(pod *corev1.Pod) {
				pod.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"}
			}),
			agent: unrelayed + "it runs on Windows, and the relay on Linux alone: take a proxy by http://",
		},
		{
			pod: changed(konnectivity("half-relayed", "--proxy-server-host=192.0.2.1"), func(pod *corev1.Pod) {
				addRelay(pod, []string{"api.hub.example:6443"}, false)
			}),
			agent: "has fairlead-relay, which is not for each hub of its agents: one that is an address or in a variable, or below 1024 on the network of a node, cannot be led there",
		},
		{
			pod:   unset("unseen", metav1.NamespaceSystem),
			agent: unsetAgent + "Kyverno leaves kube-system out, unless its own configuration says otherwise: change the manifest by fairlead mutate, or take engine Native",
			watch: leftOut + "namespace kube-system",
		},
		{pod: unset("unset", ""), agent: unsetAgent + "the pod is older than the policy: replace the pod", mend: "container agent" + missing},
		{
			pod:   changed(unset("unset-on-its-node", ""), func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }),
			agent: unsetAgent + "the pod is older than the policy: replace the pod",
			watch: leftOut + "is on the network of its node, and does not ask for it",
		},
		{pod: agent("no-sidecar", "agent", sidecars), agent: "container agent" + alone + "the pod is older than the policy: replace the pod"},
		{
			pod: changed(agent("sidecar-windows", "agent", sidecars), func(pod *corev1.Pod) {
				pod.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"}
			}),
			agent: "container agent" + alone + "it runs on Windows, and the relay on Linux alone: take a proxy by http://",
		},
		{
			pod: changed(agent("sidecar-volume", "agent", sidecars), func(pod *corev1.Pod) {
				pod.Spec.Volumes = []corev1.Volume{{Name: policies.Secret, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			}),
			agent: "container agent" + alone + "there is a volume fairlead-proxy already: give that another name",
		},
		{pod: changed(agent("decided-alone", "agent", sidecars), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Env[2] = corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://own.example:8080"}
		})},
		{pod: changed(agent("with-sidecar", "agent", sidecars), func(pod *corev1.Pod) { addSidecar(pod, "127.0.0.1:3128") })},
		{pod: agent("chisel-alone", "chisel", chisels, "client", "https://hub.example"), agent: "container chisel" + alone + "the pod is older than the policy: replace the pod"},
		{pod: agent("chisel-told", "chisel", chisels, "client", "-proxy", "http://own.example:8080", "https://hub.example")},
		{pod: agent("chisel-server", "chisel", chisels, "server")},
		{pod: agent("by-environment", "agent", environment)},
		{pod: konnectivity("hub-inside", "--proxy-server-host=hub.tunnels.svc")},
		{
			pod:   changed(konnectivity("excluded-agent", "--proxy-server-host=192.0.2.1"), func(pod *corev1.Pod) { pod.Annotations = map[string]string{injectKey: "exclude"} }),
			watch: leftOut + "annotation policies.kyverno.io/inject-proxy-env=exclude",
		},
		{pod: changed(konnectivity("relayed-agent", "--proxy-server-host=Hub.example"), func(pod *corev1.Pod) {
			addRelay(pod, []string{"hub.example:8091"}, false)
		})},
	}
}

func TestReportsSayOfEachPodWhatWasMissed(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it has a control plane of its own, and much of its time is waiting
	cp := controlplanetest.Start(t, controlplane.Options{Content: kyverno.Content})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	clients := controlplanetest.Clients(t, cp)
	namespace := controlplanetest.Namespace(t, cp)
	off := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "off", Labels: map[string]string{injectKey: "exclude"}}}
	_, err := clients.CoreV1().Namespaces().Create(t.Context(), off, metav1.CreateOptions{})
	controlplanetest.Require(t, err)

	// The pods come first: what is admitted before the policies is what was missed.
	expected := map[string]audited{}
	pods := append(auditedPods(), auditedAgents()...)
	pods = append(pods, audited{
		pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "away", Namespace: off.Name}, Spec: pods[0].pod.Spec}, watch: leftOut + "label policies.kyverno.io/inject-proxy-env=exclude of its namespace",
	})
	for _, a := range pods {
		if a.pod.Namespace == "" {
			a.pod.Namespace = namespace
		}
		created := createPod(t, clients, a.pod)
		expected[string(created.UID)] = a
		if created.Status.Phase = a.pod.Status.Phase; created.Status.Phase != "" {
			_, err := clients.CoreV1().Pods(created.Namespace).UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
			controlplanetest.Require(t, err)
		}
	}

	relayRows := map[string]tunnelRow{}
	for _, r := range mustTunnelRows(t, tunnelRelay) {
		created := r.pod()
		created.Namespace = namespace
		relayRows[string(createPod(t, clients, *created).UID)] = r
	}

	k, err := kyverno.Start(t.Context(), cp, kyverno.Options{Progress: t.Output()})
	controlplanetest.Require(t, err)
	_, err = k.StartReports(t.Context())
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), toTargets))

	c, err := client.New(cp.Admin(), client.Options{})
	controlplanetest.Require(t, err)
	var reports map[string]map[string]result
	controlplanetest.Await(t, "a report of each pod by all three policies", func(ctx context.Context) (bool, error) {
		var err error
		reports, err = readReports(ctx, c)
		for uid, a := range expected {
			if len(reports[uid]) < 3 {
				return false, fmt.Errorf("of %s: %v (%w)", a.pod.Name, reports[uid], err)
			}
		}
		for uid, r := range relayRows {
			if len(reports[uid]) < 3 {
				return false, fmt.Errorf("of row %s: %v (%w)", r.number, reports[uid], err)
			}
		}
		return true, err
	})
	// No policy has reached them: those that should have a relay are found, and no others.
	without := []string{"23", "27", "28", "29"}
	for uid, r := range relayRows {
		if found := reports[uid]["audit-tunnels"].result == "fail"; found == slices.Contains(without, r.number) {
			t.Errorf("of row %s of the relay's table the report says %v", r.number, reports[uid]["audit-tunnels"])
		}
	}
	for uid, a := range expected {
		t.Run(a.pod.Name, func(t *testing.T) {
			want := map[string]result{"audit-proxy-env": {"pass", "success"}, "audit-proxy-unreached": {"pass", "success"}, "audit-tunnels": {"pass", "success"}}
			if a.mend != "" {
				want["audit-proxy-env"] = result{"fail", a.mend}
			}
			if a.watch != "" {
				want["audit-proxy-unreached"] = result{"warn", a.watch}
			}
			if a.agent != "" {
				want["audit-tunnels"] = result{"fail", a.agent}
			}
			if got := reports[uid]; !maps.Equal(got, want) {
				t.Errorf("the report says\n%v\nwant\n%v", got, want)
			}
		})
	}
	t.Run("with carry Relay", func(t *testing.T) {
		through := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "through-the-relay", Namespace: namespace}, Spec: pods[0].pod.Spec}
		through.Spec.Containers = []corev1.Container{{Name: "web", Image: "web", Env: byRelay.entries(namespace, false)}}
		uids := map[string]string{string(createPod(t, clients, through).UID): through.Name}
		for uid, a := range expected {
			uids[uid] = a.pod.Name
		}
		controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), overTLS, byRelay.values))
		const onNode = "is on the network of its node, which has no relay"
		const copied = "refers to the Secret fairlead-proxy, whose copies nobody renews any more: "
		pass := result{"pass", "success"}
		want := map[string]map[string]result{
			"may-have-its-own": {
				"audit-proxy-env": pass, "audit-tunnels": pass,
				"audit-proxy-unreached": {"warn", "container web: names none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and may have its own from oauth2-proxy, which exclude.sources of the chart leaves alone"},
			},
			"through-the-relay": {"audit-proxy-env": pass, "audit-proxy-unreached": pass, "audit-tunnels": pass},
			"injected": {
				"audit-proxy-env":       {"fail", "container web: " + copied + "replace the pod, so that it goes through fairlead-relay"},
				"audit-proxy-unreached": pass, "audit-tunnels": pass,
			},
			"on-the-node-asking": {"audit-proxy-env": pass, "audit-proxy-unreached": {"warn", leftOut + onNode}, "audit-tunnels": pass},
			"hub-at-443": {
				"audit-proxy-env":       {"fail", "container konnectivity-agent: " + copied + "on its node there is no relay that it could go through"},
				"audit-proxy-unreached": {"warn", leftOut + onNode}, "audit-tunnels": pass,
			},
			"unset-on-its-node": {
				"audit-proxy-env": pass, "audit-proxy-unreached": {"warn", leftOut + onNode},
				"audit-tunnels": {"fail", "container agent: is to read the proxy from HTTPS_PROXY or https_proxy and has none: it " + onNode},
			},
		}
		controlplanetest.Await(t, "reports by the changed policies", func(ctx context.Context) (bool, error) {
			reports, err := readReports(ctx, c)
			got := map[string]map[string]result{}
			for uid, report := range reports {
				if name := uids[uid]; want[name] != nil {
					got[name] = report
				}
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(result{})); err == nil && diff != "" {
				err = fmt.Errorf("-want +got:\n%s", diff)
			}
			return err == nil, err
		})
	})
	t.Run("at no cost for new pods", func(t *testing.T) {
		controlplanetest.Require(t, k.Await(t.Context(), policies.InjectProxyEnv)) // Kyverno has been round
		var configurations admissionv1.ValidatingWebhookConfigurationList
		controlplanetest.Require(t, c.List(t.Context(), &configurations))
		for _, configuration := range configurations.Items {
			for _, webhook := range configuration.Webhooks {
				if asksAboutPods(webhook) {
					t.Errorf("%s asks about pods", webhook.Name)
				}
			}
		}
	})
}
