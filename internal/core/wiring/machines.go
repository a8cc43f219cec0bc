package wiring

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/render"
)

// Refs returns the objects to read besides: the control plane, and the templates of its workers, if they are kubeadm's.
func Refs(cluster *clusterv1.Cluster, deployments []clusterv1.MachineDeployment) []Ref {
	var refs []Ref
	if cp := cluster.Spec.ControlPlaneRef; cp.Kind == ControlPlane {
		refs = append(refs, Ref{cp.Kind, cp.Name})
	}
	for _, d := range deployments {
		if ref := templateOf(d); d.Spec.ClusterName == cluster.Name && ref.Kind == Template && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

func templateOf(d clusterv1.MachineDeployment) Ref {
	config := d.Spec.Template.Spec.Bootstrap.ConfigRef
	return Ref{config.Kind, config.Name}
}

// machines returns what becomes of the machine templates, workers first: nobody waits for theirs.
func machines(in Input) []Object {
	objects := []Object{}
	add := func(ref Ref) {
		if !slices.ContainsFunc(objects, func(o Object) bool { return o.Ref == ref }) {
			objects = append(objects, outcomeOf(in, ref))
		}
	}
	for _, d := range in.Deployments {
		switch template := templateOf(d); {
		case d.Spec.ClusterName != in.Cluster.Name:
		case template.Kind == "":
			objects = append(objects, leaveAlone(Ref{"MachineDeployment", d.Name}, "its machines boot with data of their own", byHand))
		default:
			add(template)
		}
	}
	for _, p := range in.Pools {
		if p.Spec.ClusterName == in.Cluster.Name {
			objects = append(objects, leaveAlone(Ref{"MachinePool", p.Name}, "the policy inject-node-files is for templates, and a pool has none", byHand))
		}
	}
	if cp := in.Cluster.Spec.ControlPlaneRef; cp.Kind != "" {
		add(Ref{cp.Kind, cp.Name})
	}
	return objects
}

// leaveAlone returns an object that stays as it is, with the reason and what somebody has to do.
func leaveAlone(ref Ref, why, do string) Object {
	return Object{Ref: ref, State: Left, Why: why, Do: do}
}

// The advice where no label helps. The pages are in the repository.
const (
	byHand  = "add the files by hand (docs/how-to/nodes.md)"
	byClass = "give the ClusterClass the patch of examples/nodes/clusterclass.yaml (docs/how-to/nodes.md)"
)

// foreign are kinds that inject-node-files leaves alone, by how they begin or end.
var foreign = []struct{ begins, ends, why, do string }{
	{"RKE2", "", "the policy inject-node-files is for kubeadm, and this is RKE2", "add the files by hand, as examples/nodes/rke2.yaml has them"},
	{"K0s", "", "the policy inject-node-files is for kubeadm, and this is k0smotron", "add the files by hand, as examples/nodes/k0smotron.yaml has them"},
	{"KThrees", "", "the policy inject-node-files is for kubeadm, and this is K3s", byHand},
	{"Talos", "", "machines of Talos take no files: they have settings of their own", "set the variables in the machine configuration: an EnvironmentConfig"},
	{"", "ManagedControlPlane", "the provider runs this control plane: there is no machine to wire", ""},
	{"", "ROSAControlPlane", "the provider runs this control plane: there is no machine to wire", ""},
	{"", "ManagedControlPlaneTemplate", "the provider runs this control plane: there is no machine to wire", ""},
}

// outcomeOf returns what Fairlead does with a control plane or a template.
func outcomeOf(in Input, ref Ref) Object {
	if ref.Kind != ControlPlane && ref.Kind != Template {
		for _, f := range foreign {
			if f.begins != "" && strings.HasPrefix(ref.Kind, f.begins) || f.ends != "" && strings.HasSuffix(ref.Kind, f.ends) {
				return leaveAlone(ref, f.why, f.do)
			}
		}
		return leaveAlone(ref, "the policy inject-node-files is for kubeadm, and does not know this kind", byHand)
	}
	object := in.Objects[ref]
	if object == nil {
		return leaveAlone(ref, "it is not there", "")
	}
	name := in.Cluster.Name
	if from := source(object); from == "-" {
		return leaveAlone(ref, "it has a file with content of its own where ours would be", "remove that first (docs/how-to/migrating-from-drop-ins.md)")
	} else if from != "" && from != name+render.SystemdSuffix {
		return leaveAlone(ref, "its files are of another Secret: "+from, "give each Cluster a template of its own")
	}
	if state, why, do := settled(object); state != "" {
		return Object{Ref: ref, State: state, Why: why, Do: do}
	}
	if of := object.GetLabels()[clusterv1.ClusterNameLabel]; of != "" && of != name {
		return leaveAlone(ref, fmt.Sprintf("its label %s is %q", clusterv1.ClusterNameLabel, of), "give each Cluster a template of its own")
	}
	for _, d := range in.Deployments {
		if d.Spec.ClusterName != name && ref == templateOf(d) {
			return leaveAlone(ref, fmt.Sprintf("Cluster %s has it, too (MachineDeployment %s), and each needs files of its own", d.Spec.ClusterName, d.Name), "give each Cluster a template of its own")
		}
	}
	return Object{
		Ref: ref, State: Change, Why: "inject-node-files is to add the files",
		Labels: map[string]string{FilesLabel: Inject, clusterv1.ClusterNameLabel: name},
	}
}

// settled returns what becomes of a template that gets no label, whoever has it; without a state it may get one.
func settled(object *unstructured.Unstructured) (state State, why, do string) {
	label, labelled := object.GetLabels()[FilesLabel]
	_, owned := object.GetLabels()[clusterv1.ClusterTopologyOwnedLabel]
	has := hasFiles(object)
	switch {
	case object.GetDeletionTimestamp() != nil:
		return Left, "it is being deleted", ""
	case owned && has:
		return Wired, "it has the files from its ClusterClass", ""
	case owned:
		return Left, "a topology owns it, and would make the next one without the files", byClass
	case labelled && label != Inject:
		return Left, fmt.Sprintf("somebody has given its label %s another value: %q", FilesLabel, label), ""
	case labelled && has:
		return Wired, "it has the label and the files", ""
	case labelled:
		return Left, "it has the label, and no files: the policy inject-node-files did not act when it got it",
			"turn the policy on (nodeFiles.enabled), and set the annotation fairlead.io/renew-node-files to a new value; a control plane then replaces its machines"
	case has:
		return Wired, "it has the files by hand", ""
	}
	return "", "", ""
}

// evidence are files of which every wired template has one (policies/inject-node-files).
var evidence = []string{
	"/etc/fairlead/proxy.env", "/etc/fairlead/relay/settings", "/etc/systemd/system/containerd.service.d/http-proxy.conf",
}

func hasFiles(object *unstructured.Unstructured) bool { return source(object) != "" }

// source returns the Secret of such a file: "-" if it is none, as with a file whose content stands in the template, and empty
// where there is no such file.
func source(object *unstructured.Unstructured) (from string) {
	for _, file := range files(object) {
		if path, _ := file["path"].(string); !slices.Contains(evidence, path) {
			continue
		}
		if secret, _ := contentFrom(file); secret != "" {
			return secret
		}
		from = "-"
	}
	return from
}

// contentFrom returns the Secret, and its key, that a file has its content from.
func contentFrom(file map[string]any) (secret, key string) {
	secret, _, _ = unstructured.NestedString(file, "contentFrom", "secret", "name")
	key, _, _ = unstructured.NestedString(file, "contentFrom", "secret", "key")
	return secret, key
}

// files returns the files of a KubeadmControlPlane or KubeadmConfigTemplate.
func files(object *unstructured.Unstructured) (all []map[string]any) {
	fields := []string{"spec", "template", "spec", "files"}
	if object.GetKind() == ControlPlane {
		fields = []string{"spec", "kubeadmConfigSpec", "files"}
	}
	list, _, _ := unstructured.NestedSlice(object.Object, fields...)
	for _, one := range list {
		if file, ok := one.(map[string]any); ok {
			all = append(all, file)
		}
	}
	return all
}
