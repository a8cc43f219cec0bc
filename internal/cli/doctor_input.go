package cli

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// doctorInput is everything that has been read.
type doctorInput struct {
	opts      doctorOptions
	subjects  []subjectPod
	documents []document // beside them
	settings  map[string]string
	families  []tunnel.Family
	notes     []string
	probes    map[string]tunnel.Probe // by hub

	neighbours *neighbours // of the documents
}

// subjectPod is a pod to be judged, as a pod itself or in a workload.
type subjectPod struct {
	object   string // for people
	template map[string]any
	of       string // the pod's name, where object is its workload
	document document
}

func diagnose(cmd *cobra.Command, opts doctorOptions) (doctorReport, error) {
	in := doctorInput{opts: opts}
	var err error
	if in.families, err = families(opts, cmd.InOrStdin()); err != nil {
		return doctorReport{}, err
	}
	if err := in.readSettings(cmd); err != nil {
		return doctorReport{}, err
	}
	if opts.name != "" {
		err = in.readCluster(cmd.Context())
	} else {
		err = in.readFiles(cmd)
	}
	if err != nil {
		return doctorReport{}, err
	}
	report, err := in.judge()
	if err != nil || !opts.probe {
		return report, err
	}
	if err := in.probeHubs(cmd.Context(), report); err != nil {
		return doctorReport{}, err
	}
	return in.judge()
}

// families returns tunnels.families of the chart's values, by name.
func families(opts doctorOptions, stdin io.Reader) ([]tunnel.Family, error) {
	values, err := mutateValues(mutateOptions{policyValues: opts.policyValues}, stdin, io.Discard)
	if err != nil {
		return nil, err
	}
	var all []tunnel.Family
	for _, name := range slices.Sorted(maps.Keys(values.Tunnels.Families)) {
		family := values.Tunnels.Families[name]
		all = append(all, tunnel.Family{Name: name, Labels: family.Labels, Containers: family.Containers, Through: family.Through, ThroughTLS: family.ThroughTLS, Reads: family.Reads, Targets: family.Targets})
	}
	return all, nil
}

// readSettings makes what the Secret fairlead-proxy has from --values or --proxy.
func (in *doctorInput) readSettings(cmd *cobra.Command) error {
	if !in.opts.hasSettings() {
		return nil
	}
	fleet, err := readFleet(in.opts.renderOptions, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if len(fleet.clusters) != 1 {
		return fmt.Errorf("doctor is about one cluster, and %s holds %d", strings.Join(in.opts.clusters, ", "), len(fleet.clusters))
	}
	effective, err := fleet.resolve(fleet.clusters[0], cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	in.settings = map[string]string{}
	for key, value := range render.PodSecret(effective).Data {
		in.settings[key] = string(value)
	}
	return nil
}

// Where the template of a pod is, by kind.
var templates = map[string][]string{"Pod": nil, "Deployment": {"spec", "template"}, "DaemonSet": {"spec", "template"}, "StatefulSet": {"spec", "template"}}

func (in *doctorInput) readFiles(cmd *cobra.Command) error {
	documents, err := readDocuments(in.opts.files, in.opts.recursive, cmd.InOrStdin())
	if err != nil {
		return err
	}
	in.documents = inNamespace(documents, in.opts.kube.Namespace)
	configurations := 0
	for _, d := range in.documents {
		if at, is := d.podTemplate(); is {
			template, found, _ := unstructured.NestedMap(d.object.Object, at...)
			if !found {
				return fmt.Errorf("%s: %s is missing, or no object", d.name(), strings.Join(at, "."))
			}
			if at != nil {
				named(template, d)
			}
			in.subjects = append(in.subjects, subjectPod{object: d.title(), template: template, document: d})
		}
		if d.isOCM("ManagedProxyConfiguration") || d.isOCM("AddOnDeploymentConfig") {
			configurations++
		}
	}
	if len(in.subjects)+configurations == 0 {
		return fmt.Errorf("%s: no Pod, Deployment, DaemonSet or StatefulSet in it, and no configuration of Open Cluster Management", strings.Join(in.opts.files, ", "))
	}
	return nil
}

// named gives a template the name and the namespace of its workload, as they are written.
func named(template map[string]any, d document) {
	metadata, ok := template["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		template["metadata"] = metadata
	}
	for _, field := range []string{"name", "namespace"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(d.object.Object, "metadata", field); found {
			metadata[field] = value
		}
	}
}

// podTemplate says whether the document makes pods, and where their template is.
func (d document) podTemplate() ([]string, bool) {
	at, known := templates[d.object.GetKind()]
	group := d.object.GroupVersionKind().Group
	return at, known && (group == "apps" || group == "" && at == nil)
}

// isOCM says whether the document is of a kind of Open Cluster Management, in any version.
func (d document) isOCM(kind string) bool {
	return d.object.GetKind() == kind && strings.HasSuffix(d.object.GroupVersionKind().Group, ".open-cluster-management.io")
}

// title names the object as it is written: a name may be a number.
func (d document) title() string {
	name, _, _ := unstructured.NestedFieldNoCopy(d.object.Object, "metadata", "name")
	namespace, _, _ := unstructured.NestedFieldNoCopy(d.object.Object, "metadata", "namespace")
	if namespace == nil {
		return fmt.Sprintf("%s %v", d.object.GetKind(), name)
	}
	return fmt.Sprintf("%s %v/%v", d.object.GetKind(), namespace, name)
}

func (in *doctorInput) judge() (doctorReport, error) {
	report := doctorReport{Pods: []doctorPod{}, Configurations: []tunnel.Configuration{}}
	for _, s := range in.subjects {
		one, err := in.judgePod(s)
		if err != nil {
			return doctorReport{}, fmt.Errorf("%s: %s: %w", s.document.file, s.object, err)
		}
		alike := slices.IndexFunc(report.Pods, func(p doctorPod) bool { return s.of != "" && reflect.DeepEqual(p.Report, one) })
		if alike < 0 {
			report.Pods = append(report.Pods, doctorPod{Report: one})
			alike = len(report.Pods) - 1
		}
		if s.of != "" {
			report.Pods[alike].Pods = append(report.Pods[alike].Pods, s.of)
		}
	}
	report.forgiveOthers()
	report.Notes = append([]string{}, in.notes...)
	var err error
	report.Configurations, err = in.configurations()
	return report, err
}

// forgiveOthers: what is no agent is a mistake where nothing else is one. Beside an agent, a chart has other workloads.
func (r *doctorReport) forgiveOthers() {
	if !slices.ContainsFunc(r.Pods, func(p doctorPod) bool { return p.HasAgent() }) {
		return
	}
	for _, p := range r.Pods {
		for i := range p.Findings {
			if p.Findings[i].Code == tunnel.NoAgent {
				p.Findings[i].Severity = lint.Info
			}
		}
	}
}

func (in *doctorInput) judgePod(s subjectPod) (tunnel.Report, error) {
	pod, findings, err := tunnel.ReadPod(s.template)
	if err != nil {
		return tunnel.Report{}, err
	}
	near, err := in.beside(pod.Metadata.Namespace)
	if err != nil {
		return tunnel.Report{}, err
	}
	return tunnel.Judge(tunnel.Input{
		Object: s.object, Pod: pod, Read: findings, Families: in.families, Objects: near.objects, Policies: near.policies,
		IdleTimeout: int(in.opts.idleTimeout.Seconds()), Probes: in.probes,
	}), nil
}

// configurations judges the objects of Open Cluster Management.
func (in *doctorInput) configurations() ([]tunnel.Configuration, error) {
	said := []tunnel.Configuration{}
	var entrypoints []tunnel.ManagedProxy
	for _, d := range in.documents {
		if !d.isOCM("ManagedProxyConfiguration") {
			continue
		}
		m, err := tunnel.ReadManagedProxy(d.object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name(), err)
		}
		entrypoints = append(entrypoints, m)
		said = append(said, m.Judge(d.title(), int(in.opts.idleTimeout.Seconds())))
	}
	for _, d := range in.documents {
		if !d.isOCM("AddOnDeploymentConfig") {
			continue
		}
		a, err := tunnel.ReadAddOnDeployment(d.object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name(), err)
		}
		said = append(said, a.Judge(d.title(), entrypoints))
	}
	return said, nil
}
