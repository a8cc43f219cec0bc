package pods

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/password"
)

// Kinds of the policy.
const (
	KindKyverno = "MutatingPolicy"          // of policies.kyverno.io
	KindNative  = "MutatingAdmissionPolicy" // of admissionregistration.k8s.io
)

// Policy is inject-proxy-env as a cluster has it.
type Policy struct {
	Kind    string
	Created time.Time
	Changed time.Time // its spec, or its metadata
	Ready   time.Time // since when; zero if its engine does not say
	// Unready says why it is not in force at all; empty if it is.
	Unready string

	namespaces, objects *metav1.LabelSelector
	programs            programs
	machines            bool                               // pods on the network of their node are not left out in any case
	sources             []*regexp.Regexp                   // of containers that get nothing, of those whose variables ours would win over
	given               map[place]map[string]corev1.EnvVar // what has been evaluated: pods of a place are many
}

// place has the properties of a pod that the variables can depend on.
type place struct {
	namespace   string
	hostNetwork bool
}

func placeOf(pod *corev1.Pod) place { return place{pod.Namespace, pod.Spec.HostNetwork} }

// Literal reports whether the policy carries a value itself: the proxy's URL, or a relay's.
func (p *Policy) Literal() bool {
	return p.any(func(e corev1.EnvVar) bool { return e.ValueFrom == nil })
}

// ShowsPassword says whether one of these values has a password.
func (p *Policy) ShowsPassword() bool {
	return p.any(func(e corev1.EnvVar) bool { return password.InValue(e.Value) })
}

func (p *Policy) any(is func(corev1.EnvVar) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(p.gives(place{}))), is)
}

// gives returns the variables that the policy adds, by name.
func (p *Policy) gives(where place) map[string]corev1.EnvVar {
	if p == nil {
		return nil
	}
	if p.given[where] == nil {
		p.given[where], _ = p.entries(where) // it has been read once
	}
	return p.given[where]
}

func (p *Policy) entries(where place) (map[string]corev1.EnvVar, error) {
	pod := trial.DeepCopy()
	pod.Namespace, pod.Spec.HostNetwork = where.namespace, where.hostNetwork
	var list []corev1.EnvVar
	err := p.programs.read("entries", pod, &list)
	entries := map[string]corev1.EnvVar{}
	for _, e := range list {
		entries[e.Name] = e
	}
	return entries, err
}

// Relays says whether the policy leads pods to a relay.
func (p *Policy) Relays() bool {
	return p.any(func(e corev1.EnvVar) bool { return leadsToRelay(e, "") })
}

// leadsToRelay says whether a variable names a relay, as the policy writes it for a namespace: by the name of its Service
// or by an address.
func leadsToRelay(e corev1.EnvVar, namespace string) bool {
	rest, ok := strings.CutPrefix(e.Value, "http://"+namespace+"@")
	host, port, err := net.SplitHostPort(rest)
	if !ok || err != nil || port != "3128" {
		return false
	}
	_, err = netip.ParseAddr(host)
	return err == nil || strings.HasPrefix(host, "fairlead-relay.") && strings.HasSuffix(host, ".svc")
}

// isOurs says whether the policy adds exactly this variable, or the default one does.
func (p *Policy) isOurs(e corev1.EnvVar, where place) bool {
	if isReference(e) {
		return e.ValueFrom.SecretKeyRef.Key == e.Name
	}
	entry, ok := p.gives(where)[e.Name]
	return ok && reflect.DeepEqual(e, entry)
}

// ReadPolicy reads an object of one of the kinds. Settings that are more than a plain value, as no installation of ours
// has them, are an error, which has no part of them.
func ReadPolicy(object unstructured.Unstructured) (*Policy, error) {
	p := &Policy{Kind: object.GetKind(), Created: object.GetCreationTimestamp().Time, machines: true, sources: guessed, given: map[place]map[string]corev1.EnvVar{}}
	p.Changed = changed(object.GetManagedFields(), p.Created)
	var content struct {
		Spec struct {
			MatchConstraints struct {
				NamespaceSelector, ObjectSelector *metav1.LabelSelector
			}
			Variables []variable
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
	var err error
	if p.programs, err = programsOf(content.Spec.Variables); err != nil {
		return nil, err
	}
	if err := p.programs.read("machines", trial, &p.machines); err != nil {
		return nil, err
	}
	if _, err := p.entries(place{}); err != nil {
		return nil, err
	}
	if err := p.readSources(); err != nil {
		return nil, err
	}
	_, err = p.programs.excluded(trial, nil)
	return p, err
}

// trial is a pod to try a policy with.
var trial = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}}}

// guessed are the sources that a policy without the setting leaves alone, as that of older charts is.
var guessed = []*regexp.Regexp{regexp.MustCompile("proxy")}

// leavesAlone says whether a container with such a source gets nothing.
func (p *Policy) leavesAlone(source string) bool {
	return p != nil && slices.ContainsFunc(p.sources, func(pattern *regexp.Regexp) bool { return pattern.MatchString(source) })
}

func (p *Policy) readSources() error {
	const setting = "excludedSources"
	if p.programs[setting] == nil {
		return nil
	}
	var texts []string
	if err := p.programs.read(setting, trial, &texts); err != nil {
		return err
	}
	p.sources = nil
	for _, text := range texts {
		pattern, err := regexp.Compile(text) // CEL's are Go's
		if err != nil {
			return fmt.Errorf("variable %s: not a regular expression", setting)
		}
		p.sources = append(p.sources, pattern)
	}
	return nil
}

func decode(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil || json.Unmarshal(text, into) != nil {
		return errors.New("a field or a value is of another type than expected")
	}
	return nil
}

// changed returns the newest time at which somebody wrote the object, apart from its status.
func changed(fields []metav1.ManagedFieldsEntry, created time.Time) time.Time {
	newest := created
	for _, entry := range fields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(newest) {
			newest = entry.Time.Time
		}
	}
	return newest
}
