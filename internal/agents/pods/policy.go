package pods

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// Kinds of the policy.
const (
	KindKyverno = "MutatingPolicy"          // of policies.kyverno.io
	KindNative  = "MutatingAdmissionPolicy" // of admissionregistration.k8s.io
)

// Policy is what inject-proxy-env says in a cluster.
type Policy struct {
	Kind    string
	Created time.Time
	Changed time.Time // its spec, or its metadata
	Ready   time.Time // since when; zero if its engine does not say
	// Unready says why it is not in force at all; empty if it is.
	Unready string

	namespaces, objects *metav1.LabelSelector
	optIn, hostNetwork  bool
	names, labels       []*regexp.Regexp
	entries             map[string]corev1.EnvVar
}

// Literal says whether the policy carries a value itself.
func (p *Policy) Literal() bool {
	return p.any(func(e corev1.EnvVar) bool { return e.ValueFrom == nil })
}

// ShowsPassword says whether one of these values has a password.
func (p *Policy) ShowsPassword() bool {
	return p.any(func(e corev1.EnvVar) bool { return password.InValue(e.Value) })
}

func (p *Policy) any(is func(corev1.EnvVar) bool) bool {
	return p != nil && slices.ContainsFunc(slices.Collect(maps.Values(p.entries)), is)
}

// gives says whether the policy adds exactly this variable, or the default one does.
func (p *Policy) gives(e corev1.EnvVar) bool {
	if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == proxysecret.Name {
		return e.ValueFrom.SecretKeyRef.Key == e.Name
	}
	return p != nil && reflect.DeepEqual(e, p.entries[e.Name])
}

// ReadPolicy reads an object of one of the kinds. Settings that are more than a plain value, as no installation of ours
// has them, are an error, which has no part of them.
func ReadPolicy(object unstructured.Unstructured) (*Policy, error) {
	p := &Policy{Kind: object.GetKind(), Created: object.GetCreationTimestamp().Time, entries: map[string]corev1.EnvVar{}}
	p.Changed = changed(object.GetManagedFields(), p.Created)
	var content struct {
		Spec struct {
			MatchConstraints struct {
				NamespaceSelector, ObjectSelector *metav1.LabelSelector
			}
			Variables []struct{ Name, Expression string }
		}
		Status struct {
			ConditionStatus struct {
				Ready      bool
				Conditions []metav1.Condition
			}
		}
	}
	if err := decode(object.Object, &content); err != nil {
		return nil, err
	}
	p.namespaces, p.objects = content.Spec.MatchConstraints.NamespaceSelector, content.Spec.MatchConstraints.ObjectSelector
	for _, condition := range content.Status.ConditionStatus.Conditions {
		if condition.LastTransitionTime.After(p.Ready) {
			p.Ready = condition.LastTransitionTime.Time
		}
	}
	if p.Kind == KindKyverno && !content.Status.ConditionStatus.Ready {
		p.Unready = "Kyverno does not say that it is ready"
	}
	for _, variable := range content.Spec.Variables {
		if err := p.readSetting(variable.Name, variable.Expression); err != nil {
			return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
		}
	}
	return p, nil
}

func (p *Policy) readSetting(name, expression string) error {
	var patterns *[]*regexp.Regexp
	switch name {
	case "optIn":
		return evaluate(expression, &p.optIn)
	case "hostNetwork":
		return evaluate(expression, &p.hostNetwork)
	case "entries":
		return p.readEntries(expression)
	case "excludedNames":
		patterns = &p.names
	case "excludedLabels":
		patterns = &p.labels
	default:
		return nil
	}
	var texts []string
	if err := evaluate(expression, &texts); err != nil {
		return err
	}
	for _, text := range texts {
		pattern, err := regexp.Compile(text) // CEL's are Go's
		if err != nil {
			return errors.New("not a regular expression")
		}
		*patterns = append(*patterns, pattern)
	}
	return nil
}

func (p *Policy) readEntries(expression string) error {
	var entries []corev1.EnvVar
	if err := evaluate(expression, &entries); err != nil {
		return err
	}
	for _, e := range entries {
		p.entries[e.Name] = e
	}
	return nil
}

// evaluate gives the value of a CEL expression that refers to nothing. CEL's own errors would quote the expression,
// which can have a password in it.
func evaluate(expression string, into any) error {
	environment, err := cel.NewEnv()
	if err != nil {
		return err
	}
	notPlain := errors.New("not a plain value")
	ast, issues := environment.Compile(expression)
	if issues.Err() != nil {
		return notPlain
	}
	program, err := environment.Program(ast)
	if err != nil {
		return notPlain
	}
	result, _, err := program.Eval(cel.NoVars())
	if err != nil {
		return notPlain
	}
	value, err := result.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return notPlain
	}
	return decode(value, into)
}

func decode(from, into any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return errors.New("a field or a value is of another type than expected")
	}
	return nil
}

// changed is the newest time at which somebody wrote the object, apart from its status.
func changed(fields []metav1.ManagedFieldsEntry, created time.Time) time.Time {
	newest := created
	for _, entry := range fields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(newest) {
			newest = entry.Time.Time
		}
	}
	return newest
}
