package cli

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
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
)

// mutator applies policies to streams of manifests.
type mutator struct {
	policies    []*mutation.Policy
	tunnels     map[string]*mutation.Tunnel // by the policy's name
	unrelayed   []mutation.Tunnel           // that have none,
	noRelay     string                      // for this reason
	literal     bool
	inNamespace string // what names none
	exclude     bool   // label agents, so that no policy is asked about them
	tlsUnknown  bool   // whether the proxy speaks TLS is not known
	streams     []stream
	namespaces  map[string]*corev1.Namespace // that stand among the manifests
	stderr      io.Writer

	workloads, agents int
	failed            bool
}

type stream struct {
	file      string
	documents [][]byte
}

func newMutator(all []mutation.Made, values mutation.Values, stderr io.Writer) (*mutator, error) {
	m := &mutator{
		tunnels: map[string]*mutation.Tunnel{}, namespaces: map[string]*corev1.Namespace{}, stderr: stderr,
		literal: values.Carry == mutation.CarryLiteral, tlsUnknown: !values.HasProxy(),
	}
	m.unrelayed, m.noRelay = values.Unrelayed()
	for _, made := range all {
		policy, err := made.Policy()
		if err != nil {
			return nil, err
		}
		m.policies = append(m.policies, policy)
		m.tunnels[policy.Name] = made.Tunnel
	}
	return m, nil
}

// add takes a stream in, and the namespaces in it.
func (m *mutator) add(file string, content []byte) {
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

// run writes all streams, changed. What goes wrong is said of every document, and makes the output worthless.
func (m *mutator) run(ctx context.Context, out *bytes.Buffer) {
	for _, s := range m.streams {
		if len(s.documents) > 0 && out.Len() > 0 && !bytes.HasPrefix(s.documents[0], []byte("---")) {
			fmt.Fprintf(out, "%s---\n", lineEnd(out.Bytes()))
		}
		for i, document := range s.documents {
			changed, err := m.document(ctx, s.file, document)
			if err != nil {
				m.fail("%s: document %d: %v", s.file, i+1, err)
			}
			out.Write(changed)
		}
	}
}

// lineEnd is what a text lacks to end with a line.
func lineEnd(text []byte) string {
	if bytes.HasSuffix(text, []byte("\n")) {
		return ""
	}
	return "\n"
}

// document returns a document, changed.
func (m *mutator) document(ctx context.Context, file string, document []byte) ([]byte, error) {
	value, err := manifest.Parse(document)
	if err != nil {
		return nil, err
	}
	touched := false
	for _, workload := range manifest.Workloads(manifest.Objects(value)) {
		m.workloads++
		name := file + ": " + workload.String()
		operations, err := m.workload(ctx, name, workload)
		if err == nil && len(operations) > 0 {
			var changed map[string]any
			if changed, err = mutation.Apply(workload.Object, workload.Pointer, operations); err == nil {
				maps.Copy(workload.Object, changed) // no patch takes a whole field of an object away
				touched = true
			}
		}
		if err != nil {
			m.fail("%s: %v", name, err)
		}
	}
	if !touched {
		return document, nil
	}
	return manifest.Edit(document, value)
}

// workload returns what is to be done to the pod or the template of a workload.
func (m *mutator) workload(ctx context.Context, name string, workload manifest.Workload) ([]mutation.Operation, error) {
	template := workload.Template()
	labels := labelsOf(template)
	for _, tunnel := range m.unrelayed {
		if lacking(tunnel.Labels, labels) == "" {
			fmt.Fprintf(m.stderr, "warning: %s: tunnel-%s: no fairlead-relay is added: %s\n", name, tunnel.Name, m.noRelay)
		}
	}
	namespace := m.namespace(cmp.Or(workload.Namespace(), m.inNamespace))
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
	known := m.agents
	for _, policy := range matching {
		m.say(name, policy.Name, pod, by[policy.Name])
	}
	if m.exclude && m.agents > known {
		all = append(all, excluding(template)...)
		fmt.Fprintf(m.stderr, "%s: label %s: exclude, so that no policy is asked\n", name, excludeKey)
	}
	return all, nil
}

// excluding puts the label on a pod, or on the template of pods, that keeps the policies away.
func excluding(template map[string]any) []mutation.Operation {
	var operations []mutation.Operation
	at := ""
	for _, key := range []string{"metadata", "labels"} {
		at += "/" + key
		inner, is := template[key].(map[string]any)
		if !is {
			operations = append(operations, mutation.Operation{Op: "add", Path: at, Value: map[string]any{}})
		}
		template = inner
	}
	return append(operations, mutation.Operation{Op: "add", Path: at + "/" + strings.ReplaceAll(excludeKey, "/", "~1"), Value: "exclude"})
}

// labelsOf are those that are texts: others Kubernetes refuses, which is said of agents.
func labelsOf(template map[string]any) map[string]string {
	all, _, _ := unstructured.NestedMap(template, "metadata", "labels")
	labels := map[string]string{}
	for key, value := range all {
		if text, is := value.(string); is {
			labels[key] = text
		}
	}
	return labels
}

// namespace is what is known of it.
func (m *mutator) namespace(name string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if given := m.namespaces[name]; given != nil {
		namespace = given.DeepCopy()
	}
	if name != "" {
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, corev1.LabelMetadataName, name)
	}
	return namespace
}

// sum says what came of it.
func (m *mutator) sum(require bool) error {
	if m.agents == 0 {
		fmt.Fprintf(m.stderr, "no agent among %s: nothing is changed\n", terminal.Plural(m.workloads, "workload"))
	}
	switch {
	case m.failed:
		return errors.New("not all of the manifests can be read and evaluated: nothing is printed")
	case require && m.agents == 0:
		return errors.New("--require: nothing is printed")
	}
	return nil
}

func (m *mutator) fail(format string, arguments ...any) {
	m.failed = true
	fmt.Fprintf(m.stderr, "error: "+format+"\n", arguments...)
}
