package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/charts"
	"github.com/fairlead-io/fairlead/internal/agents/manifest"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/policies"
)

// load reads the chart that is in the program.
var load = sync.OnceValues(func() (*chart.Chart, error) {
	var files []*archive.BufferedFile
	for under, from := range map[string]fs.FS{"": charts.Policies, "policies/": policies.Files} {
		err := fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(from, path)
			files = append(files, &archive.BufferedFile{Name: under + strings.TrimPrefix(path, "fairlead-policies/"), Data: content})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return loader.LoadFiles(files)
})

// ofTemplate matches the message of a template that fails.
var ofTemplate = regexp.MustCompile(`(?s)execution error at \([^)]*\): (.*)`)

// asked is the name of a template that is not the chart's.
const asked = "templates/asked.json"

// run renders a question about the chart and, if asked for, what the chart itself makes, by template. Of its errors, only what the
// chart itself says is repeated: it shows no value.
func run(values common.Values, question string, all bool) (map[string]string, error) {
	whole, err := load()
	if err != nil {
		return nil, err
	}
	part := *whole
	part.Templates = []*common.File{{Name: asked, Data: []byte(question)}}
	for _, template := range whole.Templates {
		if all || strings.HasPrefix(template.Name, "templates/_") {
			part.Templates = append(part.Templates, template)
		}
	}
	rendered, err := engine.Engine{}.Render(&part, values)
	if err != nil {
		if said := ofTemplate.FindStringSubmatch(err.Error()); said != nil {
			return nil, errors.New(said[1])
		}
		return nil, errors.New("the templates of the chart fail with these values")
	}
	return rendered, nil
}

// question is a template that returns what a caller asks of a rendering beside its policies. It uses the chart's _helpers.tpl.
const question = `
{{- $proxy := include "fairlead-policies.proxy" . | fromJson -}}
{{- dict
  "hasProxy" (not (empty (or $proxy.http $proxy.https $proxy.existing)))
  "noRelay" (include "fairlead-policies.noRelay" .)
  "sources" (include "fairlead-policies.excludedSources" . | fromJsonArray)
  "tunnels" (include "fairlead-policies.tunnels" . | fromJsonArray)
  "byPolicy" (include "fairlead-policies.tunnelPolicies" . | fromJson) | toJson -}}`

// InjectProxyEnv is the name of the policy that is for all pods.
const InjectProxyEnv = "inject-proxy-env"

// Rendering is the result of rendering the chart with values.
type Rendering struct {
	Answer
	Carry    string
	Policies []*Policy // inject-proxy-env, and those for tunnels by name

	values Values
}

// Answer is that to question.
type Answer struct {
	HasProxy bool
	NoRelay  string   // why there is no relay, if there is none
	Sources  []string // that are excluded: regular expressions
	Tunnels  []Tunnel
	ByPolicy map[string][]Tunnel
}

// Tunnel is a family that goes some way.
type Tunnel struct {
	tunnel.Family
	Through string `json:"way"` // ThroughEnvironment, ThroughSidecar or ThroughRelay
}

// PolicyName returns the name of the policy for this family alone.
func (t Tunnel) PolicyName() string { return "tunnel-" + t.Name }

// TakesRelay says whether its pods get fairlead-relay.
func (t Tunnel) TakesRelay() bool { return t.Through == ThroughRelay || t.Through == ThroughSidecar }

// Render renders the chart with these values.
func (v Values) Render() (*Rendering, error) {
	rendered, err := run(v.render, question, true)
	if err != nil {
		return nil, err
	}
	r := &Rendering{Carry: v.Carry, values: v}
	const folder = "fairlead-policies/"
	if err := json.Unmarshal([]byte(rendered[folder+asked]), &r.Answer); err != nil {
		return nil, fmt.Errorf("what the chart says of itself: %w", typeError(err))
	}
	for _, name := range []string{"templates/inject-proxy-env.yaml", "templates/tunnels.yaml"} {
		for _, document := range manifest.Split([]byte(rendered[folder+name])) {
			if err := r.add(document); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// add takes a document in, if it is a policy, with the families that it is for.
func (r *Rendering) add(document []byte) error {
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{}
	if err := yaml.Unmarshal(document, policy); err != nil {
		return errors.New("a template of the chart makes no YAML")
	}
	if policy.Kind != "MutatingAdmissionPolicy" {
		return nil
	}
	policy.Labels = nil // of a release
	text, err := yaml.Marshal(policy)
	if err != nil {
		return err
	}
	r.Policies = append(r.Policies, &Policy{Name: policy.Name, Text: text, Tunnels: r.ByPolicy[policy.Name], spec: policy.Spec})
	return nil
}

// UnknownPolicyError says that the chart makes no policy of that name.
type UnknownPolicyError struct {
	Name  string
	Known []string
	Why   string // a family of that name has none
}

func (e UnknownPolicyError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("%s has no policy: %s", e.Name, e.Why)
	}
	return fmt.Sprintf("is one of %s, not %q", strings.Join(e.Known, ", "), e.Name)
}

// Names returns the names that Choose takes: inject-proxy-env, and tunnel-<family> for each family that has a policy.
func (r *Rendering) Names() []string {
	names := []string{}
	for _, policy := range r.Policies {
		for _, family := range policy.Tunnels {
			names = append(names, family.PolicyName())
		}
	}
	slices.Sort(names)
	return append([]string{InjectProxyEnv}, names...)
}

// Choose returns the policies for these, with no other family, or all that are for tunnels. The name of a policy stands for all its
// families. Another name is an UnknownPolicyError.
func (r *Rendering) Choose(names []string) ([]*Policy, error) {
	known := r.Names()
	for _, name := range names {
		policy := slices.IndexFunc(r.Policies, func(p *Policy) bool { return p.Name == name })
		switch {
		case slices.Contains(known, name):
		case policy < 0:
			return nil, UnknownPolicyError{name, known, r.whyNone(strings.TrimPrefix(name, "tunnel-"))}
		default:
			for _, family := range r.Policies[policy].Tunnels {
				names = append(slices.Clone(names), family.PolicyName())
			}
		}
	}
	if len(names) > 0 {
		alone, err := r.values.withFamilies(names).Render()
		if err != nil {
			return nil, err
		}
		r = alone
	}
	return slices.DeleteFunc(slices.Clone(r.Policies), func(p *Policy) bool {
		return p.Tunnels == nil && !slices.Contains(names, InjectProxyEnv)
	}), nil
}

// whyNone says why a family has no policy; "" if there is no such family.
func (r *Rendering) whyNone(family string) string {
	switch {
	case !slices.ContainsFunc(r.values.Families, func(f tunnel.Family) bool { return f.Name == family }):
		return ""
	case slices.ContainsFunc(r.Unrelayed(), func(t Tunnel) bool { return t.Name == family }):
		return r.NoRelay
	}
	return "tunnels.enabled is false, or the family's through is None"
}

// Unrelayed returns the families whose agents would get fairlead-relay and that get no policy, for the reason NoRelay.
func (r *Rendering) Unrelayed() []Tunnel {
	if r.NoRelay == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Tunnels), func(t Tunnel) bool { return !t.TakesRelay() })
}

// CheckCarried returns an error where the policies would carry a proxy, and none is set.
func (r *Rendering) CheckCarried() error {
	if r.Carry != CarrySecretRef && !r.HasProxy {
		return fmt.Errorf("carry is %s, and no proxy is set: give --values or --proxy, and --cluster", r.Carry)
	}
	return nil
}

// LeavesAlone says whether a container with such a source gets nothing, where what it would get would win over the source.
func (r *Rendering) LeavesAlone(source string) bool {
	return slices.ContainsFunc(r.Sources, func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(source) })
}
