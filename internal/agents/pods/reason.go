package pods

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// settling is how long after its last change a policy may not be followed yet: Kyverno mends its webhooks every ten
// seconds.
const settling = 15 * time.Second

// why says why a container is uninjected, of a pod that is not left out.
func (c Cluster) why(pod *corev1.Pod, one container, s setting) (Reason, string) {
	p := c.Policy
	switch {
	case c.PolicyUnread && s.hasAll():
		return ReasonUnknown, "has all variables, of its own or of a policy that is not known"
	case s.mayKeep():
		return ReasonOwnSource, "names " + join(slices.Concat(s.own, s.sources)) + ", and may have the rest from " + join(s.may)
	case s.keepsAll() && len(s.own) > 0:
		return ReasonOwn, "sets " + join(s.own) + " itself"
	case s.keepsAll():
		return ReasonOwnSource, "takes its own from " + join(s.sources)
	case c.PolicyUnread:
		return ReasonUnknown, "the policy " + PolicyName + " is not known"
	case p == nil:
		return ReasonNoPolicy, "there is no policy " + PolicyName
	}
	born := born(pod, one)
	end := c.ExclusionEnded[pod.Namespace] // of a namespace that is excluded no more
	switch {
	case born.Before(end):
		return ReasonEnded, "admitted while its namespace was excluded, until " + end.UTC().Format(time.RFC3339) + ": replace the pod"
	case born.Before(p.Created):
		return ReasonOlder, "older than the policy: replace the pod"
	case born.Before(p.Changed):
		return ReasonOlder, "older than the policy's last change: replace the pod"
	case p.Unready != "":
		return ReasonNotReady, p.Unready
	case born.Before(p.Ready) || born.Before(p.Changed.Add(settling)):
		return ReasonNotReady, "admitted before the policy was in force: replace the pod"
	case pod.Namespace == metav1.NamespaceSystem && p.Kind == KindKyverno:
		return ReasonKube, "in kube-system, which Kyverno does not see unless its ConfigMap is changed"
	}
	return ReasonUnknown, "admitted without the policy being asked, or changed since: replace the pod"
}

// born returns when the container was admitted. Of an ephemeral one, that is when it was started.
func born(pod *corev1.Pod, one container) time.Time {
	if one.ephemeral && one.state.Running != nil {
		return one.state.Running.StartedAt.Time
	}
	return pod.CreationTimestamp.Time
}

// leftOut says why the policy does not select a pod, in whatever state the cluster is; empty if it does.
func (c Cluster) leftOut(pod *corev1.Pod) (Reason, string) {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return ReasonStatic, "a static pod, which no policy reaches"
	}
	namespace, ok := c.NamespaceLabels[pod.Namespace]
	if !ok {
		namespace = map[string]string{corev1.LabelMetadataName: pod.Namespace}
	}
	message, err := c.Policy.excludes(pod, namespace)
	switch {
	case err != nil:
		return ReasonUnknown, "cannot follow the policy: " + err.Error()
	case message == "":
		return "", ""
	case strings.HasPrefix(message, "namespace ") && pod.Namespace == metav1.NamespaceSystem:
		return ReasonKube, "in kube-system, which the policy leaves out"
	}
	return ReasonExcluded, message
}

// excludes returns why the policy leaves a pod out, as its selectors and its own variable say; empty if it does not.
func (p *Policy) excludes(pod *corev1.Pod, namespace map[string]string) (string, error) {
	if p == nil {
		return excludedByAny(pod, namespace), nil
	}
	if failed := unmatched(p.namespaces, namespace); failed == corev1.LabelMetadataName {
		return "namespace " + pod.Namespace, nil
	} else if failed != "" {
		return "label " + failed + "=" + namespace[failed] + " of its namespace", nil
	}
	if failed := unmatched(p.objects, pod.Labels); failed != "" {
		return "label " + failed + "=" + pod.Labels[failed], nil
	}
	admitted := *pod
	admitted.Name = admittedName(pod)
	return p.programs.excluded(&admitted, namespace)
}

// excludedByAny is the same for a policy that is not there or cannot be read, by what each would say.
func excludedByAny(pod *corev1.Pod, namespace map[string]string) string {
	const said = selection.Key + "=" + selection.Exclude
	switch selection.Exclude {
	case namespace[selection.Key]:
		return "label " + said + " of its namespace"
	case pod.Labels[selection.Key]:
		return "label " + said
	case pod.Annotations[selection.Key]:
		return "annotation " + said
	}
	return ""
}

// unmatched returns the key of the first requirement that the labels do not meet.
func unmatched(selector *metav1.LabelSelector, set map[string]string) string {
	if selector == nil {
		return ""
	}
	all, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil { // no API server takes such a one
		return ""
	}
	requirements, _ := all.Requirements()
	for _, requirement := range requirements {
		if !requirement.Matches(labels.Set(set)) {
			return requirement.Key()
		}
	}
	return ""
}

// The API server makes a name of generateName after the policies: k8s.io/apiserver, pkg/storage/names/generate.go.
const (
	nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	nameRandom   = 5
	nameBase     = 63 - nameRandom
)

// admittedName returns the name that the policy saw: none, if it was to be generated.
func admittedName(pod *corev1.Pod) string {
	base := pod.GenerateName[:min(len(pod.GenerateName), nameBase)]
	random, ok := strings.CutPrefix(pod.Name, base)
	if pod.GenerateName == "" || !ok || len(random) != nameRandom || strings.Trim(random, nameAlphabet) != "" {
		return pod.Name
	}
	return ""
}

// outdated says since when a container has old values; empty if it has not, or that is not known. One that does not
// run reads them when it starts.
func (c Cluster) outdated(pod *corev1.Pod, one container, s setting) string {
	switch {
	case len(s.relayed) > 0 && c.Policy != nil:
		return "goes through a relay as the policy no longer says: replace the pod"
	case s.refers && s.injected() && c.Policy.Relays():
		remedy := "replace the pod"
		if pod.Spec.HostNetwork && !c.Policy.machines {
			remedy = "its node has no relay that it could go through"
		}
		return "refers to the Secret " + proxysecret.Name + ", which is no longer renewed: " + remedy
	case c.Policy.Literal():
		if len(s.own) > 0 && s.hasAll() && born(pod, one).Before(c.Policy.Changed) {
			return "has other values than the policy, which has changed since: replace the pod"
		}
		return ""
	}
	changed, ok := c.ChangedAt[pod.Namespace]
	if !s.injected() || one.state.Running == nil || !ok || !one.state.Running.StartedAt.Time.Before(changed) {
		return ""
	}
	return fmt.Sprintf("started before the values changed at %s: restart it", changed.UTC().Format(time.RFC3339))
}
