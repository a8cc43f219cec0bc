package wiring

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// remains returns what somebody must do besides. What is to be done for an object stands with it.
func remains(in Input, objects []Object) []string {
	all := []string{}
	if text := settings(in); text != "" {
		all = append(all, text)
	}
	if in.Data {
		all = append(all, delivered(in, objects)...)
	}
	for _, o := range objects {
		if o.Kind != Template || o.State != Change {
			continue
		}
		for _, d := range in.Deployments {
			if replicas := d.Status.Replicas; d.Spec.ClusterName == in.Cluster.Name && o.Ref == templateOf(d) && replicas != nil && *replicas > 0 {
				all = append(all, fmt.Sprintf("Machines of MachineDeployment %s have no files until they are replaced: %d. To replace them: clusterctl alpha rollout restart machinedeployment/%s --namespace %s", d.Name, *replicas, d.Name, d.Namespace))
			}
		}
	}
	return all
}

// settings says what is missing of the cluster's own.
func settings(in Input) string {
	name := in.Cluster.Namespace + "/" + in.Cluster.Name
	switch {
	case in.Unread[SourceReport] != "":
		return ""
	case in.Report == nil:
		return fmt.Sprintf("Cluster %s has no ProxyReport, and no Secrets: does the operator run, is the version of Cluster API one that it knows? Machines wait for them", name)
	}
	ready := meta.FindStatusCondition(in.Report.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != "True" {
		return fmt.Sprintf("The settings of Cluster %s are not ready, and new machines wait for Secrets that are not there: fairlead doctor cluster --namespace %s %s says why", name, in.Cluster.Namespace, in.Cluster.Name)
	}
	return ""
}

// delivered returns what the label of the Cluster needs at both ends.
func delivered(in Input, objects []Object) (all []string) {
	at := slices.IndexFunc(objects, func(o Object) bool { return o.Kind == Cluster })
	if at < 0 || objects[at].State == Left {
		return nil
	}
	if !in.Delivers && in.Unread[SourceDeliver] == "" {
		all = append(all, "Nobody delivers yet: set deliver.enabled=true of the chart fairlead (docs/how-to/deliver.md)")
	}
	if in.Report == nil || in.Report.Status.Observed == nil {
		all = append(all, "This does not look into workload clusters. Unless it is there, install fairlead-policies in this one, with source.existing=true (docs/how-to/software.md)")
	}
	return all
}

func notLookedAt(in Input) (all []string) {
	for _, source := range []Source{SourceReport, SourceProxy, SourceDeliver} {
		if why := in.Unread[source]; why != "" {
			all = append(all, string(source)+": "+why)
		}
	}
	return all
}
