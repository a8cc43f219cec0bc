// Package shortname finds where manifests name a Service without a dot, or with its namespace alone, and NO_PROXY does not
// cover it: a client that uses the proxy asks it for a name that only the cluster's DNS can complete.
package shortname

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/manifest"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// entriesKey is the annotation of pods with entries of their own; cluster is how a list refers to the cluster's.
const (
	entriesKey = "fairlead.io/no-proxy"
	cluster    = "$(FAIRLEAD_NO_PROXY)"
)

// Services are the services that documents have, and what ConfigMaps say.
type Services struct {
	known    map[service]bool
	texts    map[service]map[string]string // of ConfigMaps
	excluded map[string]bool               // namespaces
}

type service struct{ namespace, name string }

// kubernetes is in every cluster.
var kubernetes = service{"default", "kubernetes"}

// Of reads the Services, ConfigMaps and namespaces among documents.
func Of(documents []document.Document) Services {
	// Where the cluster's own programs run, no policy gives pods a proxy.
	s := Services{
		known:    map[service]bool{kubernetes: true},
		texts:    map[service]map[string]string{},
		excluded: map[string]bool{"kube-system": true, "kube-public": true, "kube-node-lease": true},
	}
	for _, d := range documents {
		at := service{d.Object.GetNamespace(), d.Object.GetName()}
		switch {
		case d.Is("Service", "v1"):
			s.known[at] = true
		case d.Is("ConfigMap", "v1"):
			s.texts[at] = map[string]string{}
			data, _ := d.Object.Object["data"].(map[string]any)
			for key, value := range data {
				s.texts[at][key], _ = value.(string)
			}
		case d.Is("Namespace", "v1") && d.Object.GetLabels()[selection.Key] == selection.Exclude:
			s.excluded[at.name] = true
		}
	}
	return s
}

// Find looks at the pods and workloads among documents, whose list is NO_PROXY for any client.
func Find(documents []document.Document, list string) []lint.Finding {
	services := Of(documents)
	var findings []lint.Finding
	for _, d := range documents {
		for _, w := range manifest.Workloads(manifest.Objects(d.Object.Object)) {
			template := w.Template()
			if template == nil {
				continue
			}
			pod, _, err := tunnel.ReadPod(template)
			if err != nil {
				continue // whose object is no pod's, Kubernetes refuses
			}
			pod.Metadata.Namespace = w.Namespace()
			findings = append(findings, services.InPod(w.String(), pod, list)...)
		}
	}
	return findings
}

// InPod looks at the containers of one pod, each with its own list or this one.
func (s Services) InPod(object string, pod tunnel.Pod, list string) []lint.Finding {
	var findings []lint.Finding
	for _, c := range pod.Containers() {
		variables := s.variables(pod.Metadata.Namespace, c)
		reads, proxied := s.listOf(pod, variables, list)
		if !proxied {
			continue
		}
		bySeverity := map[lint.Severity][]named{}
		for _, t := range textsOf(c, variables) {
			for _, n := range s.names(pod.Metadata.Namespace, t) {
				all := bySeverity[n.severity]
				if _, aliased := pod.Alias(n.host); aliased || lint.Covers(reads, n.host) || slices.ContainsFunc(all, func(o named) bool { return o.host == n.host }) {
					continue
				}
				bySeverity[n.severity] = append(all, n)
			}
		}
		for _, severity := range []lint.Severity{lint.Warning, lint.Info} {
			if all := bySeverity[severity]; len(all) > 0 {
				findings = append(findings, finding(object, c.Name, severity, all))
			}
		}
	}
	return findings
}

// listOf returns the list that a container reads, and whether it has a proxy: of its own, or by the policy inject-proxy-env.
func (s Services) listOf(pod tunnel.Pod, variables []variable, list string) (reads string, proxied bool) {
	label := pod.Metadata.Labels[selection.Key]
	injected := label == selection.Include || label != selection.Exclude && pod.Metadata.Annotations[selection.Key] != selection.Exclude &&
		!pod.Spec.HostNetwork && !s.excluded[pod.Metadata.Namespace]
	reads = list
	entries := pod.Metadata.Annotations[entriesKey]
	if entries != "" {
		reads = entries + "," + list
	}
	o := ownOf(variables, entries != "")
	if o.list != nil {
		reads = strings.ReplaceAll(*o.list, cluster, list)
	}
	return reads, o.url || injected && !o.keeps
}

func finding(object, container string, severity lint.Severity, all []named) lint.Finding {
	var where, hosts, full []string
	f := lint.Finding{Code: lint.ShortName, Severity: severity}
	for _, n := range all {
		where, hosts, full = append(where, n.host+" ("+n.where+")"), append(hosts, n.host), append(full, n.full)
		f.Entries = append(f.Entries, lint.Entry{Value: n.host, Object: object, Field: n.where})
	}
	f.Why = fmt.Sprintf("%s, container %s names %s, and no entry covers that: its clients ask the proxy, which does not know it", object, container, strings.Join(where, ", "))
	if severity == lint.Info {
		f.Why += "; no Service of that name is in the files"
	}
	f.Mend = fmt.Sprintf("write %s; or list %s: in the annotation %s of the pods, or in spec.noProxy of the cluster's ProxyOverride",
		strings.Join(full, ", "), strings.Join(hosts, ","), entriesKey)
	return f
}

// full returns the name of a Service that every list covers.
func full(host, namespace string) string {
	if strings.Contains(host, ".") {
		return host + ".svc"
	}
	return host + "." + cmp.Or(namespace, "NAMESPACE") + ".svc"
}
