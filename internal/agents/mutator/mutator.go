// Package mutator applies policies to streams of manifests, and says what each does to an agent, what not, and why.
package mutator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/manifest"
	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// Mutator applies policies to streams of manifests.
type Mutator struct {
	opts       Options
	policies   []*mutation.Policy
	chart      *mutation.Rendering
	tlsUnknown bool // whether the proxy speaks TLS is not known
	streams    []stream
	namespaces map[string]*corev1.Namespace // that stand among the manifests

	workloads, agents int
	failed            bool
}

// Options are the settings that policies do not have.
type Options struct {
	Namespace string    // of objects that name none
	Exclude   bool      // label agents, so that no policy is asked about them
	Report    io.Writer // gets the changes, and the reason for each
}

type stream struct {
	file      string
	documents [][]byte
}

// New takes policies of a rendering.
func New(policies []*mutation.Policy, chart *mutation.Rendering, opts Options) (*Mutator, error) {
	for _, policy := range policies {
		if err := policy.ReadSelectors(); err != nil {
			return nil, err
		}
	}
	return &Mutator{opts: opts, policies: policies, chart: chart, tlsUnknown: !chart.HasProxy, namespaces: map[string]*corev1.Namespace{}}, nil
}

// Add takes a stream in, and the namespaces in it.
func (m *Mutator) Add(file string, content []byte) {
	s := stream{file, manifest.Split(content)}
	for _, document := range s.documents {
		if !bytes.Contains(document, []byte("Namespace")) {
			continue // parsing takes long
		}
		value, _ := manifest.Parse(document)
		for _, object := range manifest.Objects(value) {
			if namespace := (unstructured.Unstructured{Object: object}); namespace.GetAPIVersion() == "v1" && namespace.GetKind() == "Namespace" {
				m.namespaces[namespace.GetName()] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.GetName(), Labels: namespace.GetLabels()}}
			}
		}
	}
	m.streams = append(m.streams, s)
}

// Run writes all streams, changed. What goes wrong is said of every document, and makes the output worthless.
func (m *Mutator) Run(ctx context.Context, out *bytes.Buffer) {
	for _, s := range m.streams {
		if len(s.documents) > 0 && out.Len() > 0 && !bytes.HasPrefix(s.documents[0], []byte("---")) {
			if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
				out.WriteString("\n")
			}
			out.WriteString("---\n")
		}
		above := 0
		for i, document := range s.documents {
			changed, err := m.document(ctx, s.file, document, above)
			above += bytes.Count(document, []byte("\n"))
			if err != nil {
				m.fail("%s: document %d: %v", s.file, i+1, err)
			}
			out.Write(changed)
		}
	}
}

// document returns a document, changed. It has that many lines above it.
func (m *Mutator) document(ctx context.Context, file string, document []byte, above int) ([]byte, error) {
	value, remarks, err := manifest.Read(document, above)
	if err != nil {
		return nil, err
	}
	for _, r := range remarks {
		fmt.Fprintln(m.opts.Report, "warning:", r.In(file))
	}
	touched := false
	for _, workload := range manifest.Workloads(manifest.Objects(value)) {
		m.workloads++
		name := file + ": " + workload.String()
		operations, err := m.workload(ctx, name, workload)
		if err != nil {
			m.fail("%s: %v", name, err)
		} else if len(operations) > 0 {
			changed, err := mutation.Apply(workload.Object, workload.Pointer, operations)
			if err != nil {
				m.fail("%s: %v", name, err)
				continue
			}
			maps.Copy(workload.Object, changed) // no patch takes a whole field of an object away
			touched = true
		}
	}
	if !touched {
		return document, nil
	}
	return manifest.Edit(document, value)
}

// workload returns the changes to the pod or the template of a workload.
func (m *Mutator) workload(ctx context.Context, name string, workload manifest.Workload) ([]mutation.Operation, error) {
	template := workload.Template()
	labels := labelsOf(template)
	for _, tunnel := range m.chart.Unrelayed() {
		if selection.Lacking(tunnel.Labels, labels) == "" {
			fmt.Fprintf(m.opts.Report, "warning: %s: %s: no fairlead-relay is added: %s\n", name, tunnel.PolicyName(), m.chart.NoRelay)
		}
	}
	namespace := m.namespace(cmp.Or(workload.Namespace(), m.opts.Namespace))
	var matching []*mutation.Policy
	for _, policy := range m.policies {
		if policy.Matches(labels, namespace.Labels) {
			matching = append(matching, policy)
		}
	}
	if len(matching) == 0 {
		m.sayMissed(name, template, labels, namespace)
		return nil, nil
	}
	if m.chart.Carry == mutation.CarryRelay && namespace.Name == "" {
		return nil, errors.New("its namespace, which carry Relay writes into the variables, is not known: give --namespace")
	}
	generateName := ""
	if !workload.IsPod() {
		generateName = workload.Name() + "-"
	}
	pod, err := mutation.Pod(template, generateName, namespace.Name)
	if err != nil {
		return nil, err
	}
	by, all, err := mutation.Run(ctx, matching, pod, namespace)
	if err != nil {
		return nil, err
	}
	before := m.agents
	for _, policy := range matching {
		m.say(name, policy, pod, by[policy.Name])
	}
	if m.opts.Exclude && m.agents > before {
		all = append(all, excluding(template)...)
		fmt.Fprintf(m.opts.Report, "%s: label %s: exclude, so that no policy is asked\n", name, selection.Key)
	}
	return all, nil
}

// excluding puts the label on a pod, or on the template of pods, that keeps the policies away.
func excluding(template map[string]any) []mutation.Operation {
	var operations []mutation.Operation
	at := ""
	for _, key := range []string{"metadata", "labels"} {
		at += "/" + key
		inner, ok := template[key].(map[string]any)
		if !ok {
			operations = append(operations, mutation.Operation{Op: "add", Path: at, Value: map[string]any{}})
		}
		template = inner
	}
	return append(operations, mutation.Operation{Op: "add", Path: at + "/" + strings.ReplaceAll(selection.Key, "/", "~1"), Value: "exclude"})
}

// labelsOf are those that are texts: others Kubernetes refuses, which is said of agents.
func labelsOf(template map[string]any) map[string]string {
	all, _, _ := unstructured.NestedMap(template, "metadata", "labels")
	labels := map[string]string{}
	for key, value := range all {
		if text, ok := value.(string); ok {
			labels[key] = text
		}
	}
	return labels
}

// namespace returns the namespace of this name from the manifests, or one without labels.
func (m *Mutator) namespace(name string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if given := m.namespaces[name]; given != nil {
		namespace = given.DeepCopy()
	}
	if name != "" {
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, corev1.LabelMetadataName, name)
	}
	return namespace
}

// Finish says what came of it. It is an error if a manifest could not be read and evaluated, or if an agent is required
// and there is none: then nothing of the output is worth anything.
func (m *Mutator) Finish(require bool) error {
	if m.agents == 0 {
		workloads := fmt.Sprintf("%d workloads", m.workloads)
		if m.workloads == 1 {
			workloads = "1 workload"
		}
		fmt.Fprintf(m.opts.Report, "no agent among %s: nothing is changed\n", workloads)
	}
	switch {
	case m.failed:
		return errors.New("not all of the manifests can be read and evaluated: nothing is printed")
	case require && m.agents == 0:
		return errors.New("--require: nothing is printed")
	}
	return nil
}

func (m *Mutator) fail(format string, arguments ...any) {
	m.failed = true
	fmt.Fprintf(m.opts.Report, "error: "+format+"\n", arguments...)
}
