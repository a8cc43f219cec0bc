package wiring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Answer has an object as the API server would store it with its labels, or the reason why it refuses them.
type Answer struct {
	Before, After *unstructured.Unstructured
	Refused       string
}

// Judge says what the labels that Decide wants would do. An object for which they would do no good gets none.
func Judge(in Input, decided []Object, answers map[Ref]Answer) Result {
	r := Result{Cluster: in.Cluster.Namespace + "/" + in.Cluster.Name, Objects: slices.Clone(decided), NotLookedAt: notLookedAt(in)}
	for i, o := range r.Objects {
		if o.State == Change {
			r.Objects[i] = judge(in, o, answers[o.Ref])
		}
	}
	r.Remains = remains(in, r.Objects)
	return r
}

func judge(in Input, o Object, a Answer) Object {
	if a.Refused != "" || a.After == nil {
		return leaveAlone(o.Ref, "the API server refuses the label: "+a.Refused, "")
	}
	if o.Kind != Cluster {
		if !hasFiles(a.After) {
			return leaveAlone(o.Ref, "the policy inject-node-files would add nothing here, and does not do it later either",
				"turn it on in the management cluster (nodeFiles.enabled of the chart fairlead), then run this again")
		}
		if why, do := unsure(in); why != "" {
			return leaveAlone(o.Ref, "its new machines would wait for keys that the Secret may not have: "+why, do)
		}
		if missing := missingKeys(in, a.After); len(missing) > 0 {
			return leaveAlone(o.Ref, fmt.Sprintf("its new machines would wait for keys that CorporateProxy %s does not request: %s", in.Proxy.Name, strings.Join(missing, ", ")),
				"request them first: spec.node of the CorporateProxy (docs/how-to/nodes.md)")
		}
	}
	o.Diff = diff(a.Before, a.After)
	if o.Kind == ControlPlane && slices.ContainsFunc(o.Diff, func(line string) bool { return strings.Contains(line, " spec.") }) {
		o.Replaces, _, _ = unstructured.NestedInt64(a.Before.Object, "status", "replicas")
		o.Why += "; its machines are replaced: " + fmt.Sprint(o.Replaces)
		if paused := in.Cluster.Spec.Paused; paused != nil && *paused {
			o.Why += ", once the Cluster is not paused any more"
		}
	}
	return o
}

// unsure returns why nobody can tell which keys the Secret has: it follows from the CorporateProxy only if the cluster has its
// newest revision.
func unsure(in Input) (why, do string) {
	doctor := fmt.Sprintf("fairlead doctor cluster --namespace %s %s says why", in.Cluster.Namespace, in.Cluster.Name)
	switch unread := cmp.Or(in.Unread[SourceReport], in.Unread[SourceProxy]); {
	case unread != "":
		return unread, "run this with that right"
	case in.Report == nil || !meta.IsStatusConditionTrue(in.Report.Status.Conditions, v1alpha1.ConditionReady):
		return "the settings of the Cluster are not ready", doctor
	case in.Proxy == nil:
		return "no CorporateProxy is for the Cluster", doctor
	case in.Proxy.Status.ObservedGeneration != in.Proxy.Generation:
		return fmt.Sprintf("the operator has not carried out the newest CorporateProxy %s", in.Proxy.Name), "run this again later"
	}
	rollout, current := in.Proxy.Status.Rollout, in.Report.Status.Revision
	if rollout != nil && (current == nil || current.Number != rollout.Revision) {
		return fmt.Sprintf("the Cluster does not have revision %d of CorporateProxy %s yet", rollout.Revision, in.Proxy.Name), "run this again when it has"
	}
	return "", ""
}

const twin, relay = ".base64", string(resolve.DeliveryRelay)

// missingKeys returns the keys that a template names and that the CorporateProxy does not request.
func missingKeys(in Input, object *unstructured.Unstructured) (missing []string) {
	for _, file := range files(object) {
		secret, key := contentFrom(file)
		if secret == in.Cluster.Name+render.SystemdSuffix && !requested(in.Proxy.Spec, key) && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	return missing
}

// requested is of the keys that inject-node-files names; docs/reference/secrets.md has all.
func requested(spec v1alpha1.CorporateProxySpec, key string) bool {
	plain, twinned := strings.CutSuffix(key, twin)
	node := spec.Node
	switch {
	case twinned && !node.Base64Twins:
		return false
	case strings.HasPrefix(plain, "environmentFile"):
		return slices.Contains(node.Files, "EnvironmentFile")
	case plain == "relayInstallService":
		return node.Delivery == relay && node.Relay.Image != ""
	case strings.HasPrefix(plain, "relay"):
		return node.Delivery == relay
	case plain == "trustedCA":
		return spec.TrustedCARef != nil
	}
	return true
}
