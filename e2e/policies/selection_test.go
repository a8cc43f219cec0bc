package policies_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// webPod has one container, which says nothing.
func webPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
	}
}

// said is the key under which a pod or a namespace says whether it is injected.
const said = "policies.kyverno.io/inject-proxy-env"

// The namespaces of a variant.
const (
	plainNamespace    = "plain"
	namedNamespace    = "named"    // in exclude.namespaces
	excludedNamespace = "excluded" // by its label
	includedNamespace = "included" // by its label
	unservedNamespace = "unserved" // in which the replicator is refused
	unmarkedNamespace = "unmarked" // in which it has written nothing yet
)

// selection is a way to say, or not to say, whether a pod is injected.
type selection struct {
	name      string
	namespace string
	change    func(*corev1.Pod)
	injected  bool // without optIn
	optedIn   bool // with optIn
	static    bool // a mirror pod, which cannot have ephemeral containers

	more string // entries that the pod adds to our list
}

var selections = []selection{
	{name: "plain", injected: true},
	{name: "host-network", change: hostNetwork},
	{name: "host-network-annotation-include", change: both(hostNetwork, annotated("include")), injected: true, optedIn: true},
	{name: "host-network-label-include", change: both(hostNetwork, labelled(said, "include")), injected: true, optedIn: true},
	{name: "host-network-namespace-include", namespace: includedNamespace, change: hostNetwork, injected: true, optedIn: true},
	{name: "host-network-palette-proxy", change: both(hostNetwork, labelled("spectrocloud.com/connection", "proxy")), injected: true, optedIn: true},
	{name: "host-network-include-exclude", change: both(hostNetwork, both(labelled(said, "include"), annotated("exclude")))},

	{name: "annotation-exclude", change: annotated("exclude")},
	{name: "label-exclude", change: labelled(said, "exclude")},
	{name: "namespace-exclude", namespace: excludedNamespace},
	{name: "namespace-excluded-by-name", namespace: namedNamespace},

	{name: "annotation-include", change: annotated("include"), injected: true, optedIn: true},
	{name: "label-include", change: labelled(said, "include"), injected: true, optedIn: true},
	{name: "namespace-include", namespace: includedNamespace, injected: true, optedIn: true},
	{name: "namespace-unserved", namespace: unservedNamespace, injected: true},
	{name: "namespace-unmarked", namespace: unmarkedNamespace, injected: true},
	{name: "palette-proxy", change: labelled("spectrocloud.com/connection", "proxy"), injected: true, optedIn: true},
	{name: "palette-direct", change: labelled("spectrocloud.com/connection", "direct"), injected: true},
	{name: "annotation-nonsense", change: annotated("Include"), injected: true},
	{name: "label-nonsense", change: labelled(said, "yes"), injected: true},

	{name: "label-include-annotation-exclude", change: both(labelled(said, "include"), annotated("exclude"))},
	{name: "annotation-include-label-exclude", change: both(annotated("include"), labelled(said, "exclude"))},
	{name: "namespace-include-annotation-exclude", namespace: includedNamespace, change: annotated("exclude")},
	{name: "namespace-exclude-annotation-include", namespace: excludedNamespace, change: annotated("include")},

	{name: "capi-controller-manager-name"},
	{name: "capi-controller-manager-generated", change: generated},
	{name: "capi-controller-manager-included", change: annotated("include")},
	{name: "not-capi-controller-manager-name", injected: true},
	{name: "core-provider", change: labelled("cluster.x-k8s.io/provider", "cluster-api")},
	{name: "bootstrap-provider", change: both(labelled("cluster.x-k8s.io/provider", "bootstrap-kubeadm"), annotated("include"))},
	{name: "kamaji-control-plane", change: both(labelled("kamaji.clastix.io/name", "tenant"), annotated("include"))},
	{name: "control-plane-provider", change: labelled("cluster.x-k8s.io/provider", "control-plane-k0sproject-k0smotron")},
	{name: "infrastructure-provider", change: labelled("cluster.x-k8s.io/provider", "infrastructure-aws"), injected: true},
	{name: "other-cluster-api-label", change: labelled("my.cluster.x-k8s.io/provider", "cluster-api"), injected: true},
	{name: "longer-provider", change: labelled("cluster.x-k8s.io/provider", "cluster-api-addon"), injected: true},

	{name: "more-entries", change: listed(" kafka.internal,, .shop.example$(HOME) ,"), injected: true, more: "kafka.internal,.shop.example$$(HOME)"},
	{name: "no-more-entries", change: listed(" , "), injected: true},
	{name: "more-entries-excluded", change: both(listed("kafka.internal"), labelled(said, "exclude"))},

	{name: "mirror", change: mirror, static: true},
}

func listed(entries string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{"fairlead.io/no-proxy": entries} }
}

func annotated(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{said: value} }
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

func hostNetwork(p *corev1.Pod) { p.Spec.HostNetwork = true }

func generated(p *corev1.Pod) { p.GenerateName, p.Name = p.Name+"-", "" }

// mirror makes it what kubelet shows of a static pod.
func mirror(p *corev1.Pod) {
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "0123456789"}
	p.Spec.NodeName = "node"
}

func both(first, second func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) { first(p); second(p) }
}

func selectionNamed(name string) selection {
	for _, s := range selections {
		if s.name == name {
			return s
		}
	}
	panic("no selection is called " + name)
}
