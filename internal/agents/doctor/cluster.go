package doctor

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

// Workloads are the kinds that have pods, with their resources in the API group apps.
var Workloads = []struct{ Kind, Resource string }{
	{"Deployment", "deployments"}, {"DaemonSet", "daemonsets"}, {"StatefulSet", "statefulsets"},
}

// Lister lists objects of a cluster.
type Lister interface {
	Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error)
}

// reader reads from the namespace of a cluster.
type reader struct {
	Lister
	*Examination
	namespace string
}

// Cluster examines the pod of a name, or the pods of the workloads of that name: kind/name, or a name alone. A policy
// acts on pods, so that the template of a workload says less; it is looked at where there are no pods.
func Cluster(ctx context.Context, lister Lister, namespace, asked string, opts Options) (*Examination, error) {
	r := reader{lister, &Examination{opts: opts}, namespace}
	kind, name, qualified := strings.Cut(asked, "/")
	if !qualified {
		kind, name = "", kind
	}
	pods, err := r.Objects(ctx, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, namespace)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	for _, pod := range pods {
		if pod.GetName() == name && wanted(kind, "Pod", "pods") {
			r.subject(inCluster(pod), "")
		}
	}
	for _, workload := range Workloads {
		if !wanted(kind, workload.Kind, workload.Resource) {
			continue
		}
		if err := r.workload(ctx, workload.Resource, name, pods); err != nil {
			return nil, err
		}
	}
	if len(r.subjects) == 0 {
		return nil, fmt.Errorf("there is no pod, Deployment, DaemonSet or StatefulSet %q in the namespace %q", asked, namespace)
	}
	return r.Examination, r.readBeside(ctx)
}

func inCluster(object unstructured.Unstructured) document.Document {
	return document.Document{File: "the cluster", Object: object}
}

func wanted(asked, kind, plural string) bool {
	return asked == "" || strings.EqualFold(asked, kind) || strings.EqualFold(asked, plural)
}

// subject adds a pod, or the template of a workload. For a pod of a workload, workload is the title of the latter; else
// empty.
func (e *Examination) subject(d document.Document, workload string) {
	at, _ := podTemplate(d)
	s := subject{object: d.Title(), template: templateOf(d, at), file: d.File}
	if workload != "" {
		s.object, s.of = workload, d.Object.GetName()
	}
	e.subjects, e.asked = append(e.subjects, s), append(e.asked, d)
}

func (r reader) workload(ctx context.Context, resource, name string, pods []unstructured.Unstructured) error {
	list, err := r.Objects(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}, r.namespace)
	if err != nil {
		return r.unread(resource, err, "cannot tell whether one has this name")
	}
	for _, workload := range list {
		if workload.GetName() != name {
			continue
		}
		workload.SetAPIVersion("apps/v1")
		d := inCluster(workload)
		selector, err := selectorOf(workload)
		if err != nil {
			return fmt.Errorf("%s: spec.selector: %w", d.Name(), err)
		}
		found := false
		for _, pod := range pods {
			if selector.Matches(labels.Set(pod.GetLabels())) && pod.GetDeletionTimestamp() == nil {
				r.subject(inCluster(pod), d.Title())
				found = true
			}
		}
		if !found {
			r.notes = append(r.notes, d.Title()+" has no pods: its template is looked at, before any policy")
			r.subject(d, "")
		}
	}
	return nil
}

func selectorOf(workload unstructured.Unstructured) (labels.Selector, error) {
	content, _, err := unstructured.NestedMap(workload.Object, "spec", "selector")
	if err != nil {
		return nil, err
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

// readBeside reads what may matter for the pods. What may not be read is a note, what the cluster does not have is not.
func (r reader) readBeside(ctx context.Context) error {
	type kind struct {
		resource    schema.GroupVersionResource
		namespace   string
		consequence string
	}
	all := []kind{
		{schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}, r.namespace, "cannot tell whether a NetworkPolicy is in the way"},
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, r.namespace, "cannot read the configuration of agents"},
		{schema.GroupVersionResource{Group: "proxy.open-cluster-management.io", Version: "v1alpha1", Resource: "managedproxyconfigurations"}, "", "cannot tell what the hub is told"},
		{schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "addondeploymentconfigs"}, "", "cannot tell what the hub is told"},
	}
	if r.opts.Settings[proxyenv.NoProxy] != "" {
		all = append(all, kind{schema.GroupVersionResource{Version: "v1", Resource: "services"}, r.namespace, "cannot tell which Services are named without a dot"})
	}
	for _, one := range all {
		list, err := r.Objects(ctx, one.resource, one.namespace)
		switch {
		case apierrors.IsNotFound(err): // not served
			continue
		case err != nil:
			if err := r.unread(one.resource.Resource, err, one.consequence); err != nil {
				return err
			}
		}
		for _, object := range list {
			r.documents = append(r.documents, inCluster(object))
		}
	}
	return nil
}

// unread notes a resource that may not be listed. Any other error is returned.
func (e *Examination) unread(resource string, err error, consequence string) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("listing %s: %w", resource, err)
	}
	e.Note(fmt.Sprintf("%s: may not list %s", consequence, resource))
	return nil
}
