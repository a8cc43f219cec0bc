package cli

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

	"github.com/fairlead-io/fairlead/internal/cli/cluster"
)

// Workloads by kind.
var workloads = []struct{ kind, resource string }{
	{"Deployment", "deployments"}, {"DaemonSet", "daemonsets"}, {"StatefulSet", "statefulsets"},
}

// readCluster finds the pod of the name, or the pods of the workloads of that name. A policy acts on pods, so that the
// template of a workload says less; it is looked at where there are no pods.
func (in *doctorInput) readCluster(ctx context.Context) error {
	cluster, err := cluster.Connect(in.opts.kube)
	if err != nil {
		return err
	}
	kind, name, qualified := strings.Cut(in.opts.name, "/")
	if !qualified {
		kind, name = "", kind
	}
	pods, err := cluster.Objects(ctx, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, cluster.Namespace)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for _, pod := range pods {
		if pod.GetName() == name && wanted(kind, "Pod", "pods") {
			in.subject(document{"the cluster", pod}, "")
		}
	}
	for _, workload := range workloads {
		if !wanted(kind, workload.kind, workload.resource) {
			continue
		}
		if err := in.readWorkload(ctx, cluster, workload.resource, name, pods); err != nil {
			return err
		}
	}
	if len(in.subjects) == 0 {
		return fmt.Errorf("there is no pod, Deployment, DaemonSet or StatefulSet %q in the namespace %q", in.opts.name, cluster.Namespace)
	}
	return in.readBeside(ctx, cluster)
}

func wanted(asked, kind, plural string) bool {
	return asked == "" || strings.EqualFold(asked, kind) || strings.EqualFold(asked, plural)
}

// subject adds a pod, or a workload's template; name is that of a workload's pod.
func (in *doctorInput) subject(d document, workload string) {
	s := subjectPod{object: d.title(), template: d.object.Object, document: d}
	if at, _ := d.podTemplate(); at != nil {
		s.template, _, _ = unstructured.NestedMap(d.object.Object, at...)
		named(s.template, d)
	}
	if workload != "" {
		s.object, s.of = workload, d.object.GetName()
	}
	in.subjects = append(in.subjects, s)
}

func (in *doctorInput) readWorkload(ctx context.Context, cluster *cluster.Cluster, resource, name string, pods []unstructured.Unstructured) error {
	list, err := cluster.Objects(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}, cluster.Namespace)
	if err != nil {
		return in.unread(resource, err, "cannot tell whether one has this name")
	}
	for _, workload := range list {
		if workload.GetName() != name {
			continue
		}
		workload.SetAPIVersion("apps/v1")
		d := document{"the cluster", workload}
		selector, err := selectorOf(workload)
		if err != nil {
			return fmt.Errorf("%s: spec.selector: %w", d.name(), err)
		}
		found := false
		for _, pod := range pods {
			if selector.Matches(labels.Set(pod.GetLabels())) && pod.GetDeletionTimestamp() == nil {
				in.subject(document{"the cluster", pod}, d.title())
				found = true
			}
		}
		if !found {
			in.notes = append(in.notes, d.title()+" has no pods: its template is looked at, before any policy")
			in.subject(d, "")
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
func (in *doctorInput) readBeside(ctx context.Context, cluster *cluster.Cluster) error {
	for _, one := range []struct {
		resource    schema.GroupVersionResource
		namespace   string
		consequence string
	}{
		{schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}, cluster.Namespace, "cannot tell whether a NetworkPolicy is in the way"},
		{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, cluster.Namespace, "cannot read the configuration of agents"},
		{schema.GroupVersionResource{Group: "proxy.open-cluster-management.io", Version: "v1alpha1", Resource: "managedproxyconfigurations"}, "", "cannot tell what the hub is told"},
		{schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "addondeploymentconfigs"}, "", "cannot tell what the hub is told"},
	} {
		list, err := cluster.Objects(ctx, one.resource, one.namespace)
		switch {
		case apierrors.IsNotFound(err): // not served
			continue
		case err != nil:
			if err := in.unread(one.resource.Resource, err, one.consequence); err != nil {
				return err
			}
		}
		for _, object := range list {
			in.documents = append(in.documents, document{"the cluster", object})
		}
	}
	return nil
}

// unread makes a note of what may not be read; another error is one.
func (in *doctorInput) unread(resource string, err error, consequence string) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("listing %s: %w", resource, err)
	}
	in.note(fmt.Sprintf("%s: may not list %s", consequence, resource))
	return nil
}
