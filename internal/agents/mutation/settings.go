package mutation

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/charts"
	"github.com/fairlead-io/fairlead/policies"
)

// InjectProxyEnv is the policy that is for any pod.
const InjectProxyEnv = "inject-proxy-env"

// Made is a policy as the chart makes it: a text, and what fills it in.
type Made struct {
	From     string // the name of its text, a folder of package policies
	Settings Settings
	Tunnels  []Tunnel // none if it is not for tunnels; all of one way, known by the same label keys
}

// Tunnel is a family that goes some way.
type Tunnel struct {
	Name    string
	Through string // ThroughEnvironment, ThroughSidecar or ThroughRelay
	Family
}

// PolicyName is what people call the policy for this family alone.
func (t Tunnel) PolicyName() string { return "tunnel-" + t.Name }

// TakesRelay says whether its pods get fairlead-relay.
func (t Tunnel) TakesRelay() bool { return t.Through == ThroughRelay || t.Through == ThroughSidecar }

// Made returns the policies that the chart makes of these values, by name: what its templates do, as data.
func (v Values) Made() ([]Made, error) {
	proxy, err := v.proxy()
	if err != nil {
		return nil, err
	}
	entries, err := v.entries()
	if err != nil {
		return nil, err
	}
	machines := strconv.FormatBool(v.machines(proxy))
	inject, err := v.injectProxyEnv(entries, machines)
	if err != nil {
		return nil, err
	}
	made := []Made{inject}
	together := v.together(proxy)
	for _, name := range slices.Sorted(maps.Keys(together)) {
		one, err := v.tunnel(name, together[name], entries, machines)
		if err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

// UnknownPolicyError says that the chart makes no policy of that name.
type UnknownPolicyError struct {
	Name  string
	Known []string
}

func (e UnknownPolicyError) Error() string {
	return fmt.Sprintf("is one of %s, not %q", strings.Join(e.Known, ", "), e.Name)
}

// Names are what Choose takes: inject-proxy-env, and tunnel-<family> for each family that has a policy.
func (v Values) Names() ([]string, error) {
	all, err := v.Made()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, made := range all {
		for _, tunnel := range made.Tunnels {
			names = append(names, tunnel.PolicyName())
		}
	}
	slices.Sort(names)
	return append([]string{InjectProxyEnv}, names...), nil
}

// Choose returns the policies for these, with no other family, or all that are for tunnels. Another name is an UnknownPolicyError.
func (v Values) Choose(names []string) ([]Made, error) {
	known, err := v.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, UnknownPolicyError{name, known}
		}
	}
	if len(names) > 0 {
		v.Tunnels.Families = maps.Clone(v.Tunnels.Families)
		maps.DeleteFunc(v.Tunnels.Families, func(name string, _ Family) bool { return !slices.Contains(names, Tunnel{Name: name}.PolicyName()) })
	}
	all, err := v.Made()
	return slices.DeleteFunc(all, func(made Made) bool { return made.Tunnels == nil && !slices.Contains(names, InjectProxyEnv) }), err
}

// Unrelayed are the families whose agents would get fairlead-relay and that get no policy, with the reason.
func (v Values) Unrelayed() ([]Tunnel, string) {
	proxy, err := v.proxy()
	why := v.noRelay(proxy)
	if err != nil || why == "" {
		return nil, ""
	}
	return slices.DeleteFunc(v.tunnels(proxy), func(t Tunnel) bool { return !t.TakesRelay() }), why
}

// noRelay is why there is no relay, if there is none: fairlead-policies.noRelay in the chart's _helpers.tpl.
func (v Values) noRelay(proxy proxySettings) string {
	switch {
	case v.Carry != CarrySecretRef:
		return "carry " + v.Carry + " makes no Secret for it: take carry SecretRef"
	case proxy.https == "":
		return "it leads to cluster.proxy.https, which is empty"
	}
	return ""
}

// tunnels are the families that go some way: fairlead-policies.tunnels in the chart's _tunnels.tpl.
func (v Values) tunnels(proxy proxySettings) []Tunnel {
	var all []Tunnel
	if !v.Tunnels.Enabled {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v.Tunnels.Families)) {
		tunnel := Tunnel{Name: name, Family: v.Tunnels.Families[name]}
		tunnel.Through = tunnel.Family.Through
		if v.Carry != CarryRelay && proxy.speaksTLS() && tunnel.ThroughTLS != "" {
			tunnel.Through = tunnel.ThroughTLS
		}
		if v.Carry == CarryRelay && tunnel.Through == ThroughSidecar && len(tunnel.Reads) > 0 {
			tunnel.Through = ThroughEnvironment
		}
		if tunnel.Through != ThroughNone {
			all = append(all, tunnel)
		}
	}
	return all
}

// Policy returns it, to be compiled when it is needed.
func (m Made) Policy() (*Policy, error) {
	text, err := m.read()
	if err != nil {
		return nil, err
	}
	return prepare(text, m.Settings)
}

// Text returns it as the API server's own kind.
func (m Made) Text() ([]byte, error) {
	text, err := m.read()
	if err != nil {
		return nil, err
	}
	policy, err := Fill(text, m.Settings)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(policy)
}

func (m Made) read() ([]byte, error) {
	return policies.Files.ReadFile(m.From + "/" + m.From + ".yaml")
}

// excluded are the defaults, and what the values add.
func (v Values) excluded() excluded {
	with := func(defaults, added []string) []string {
		var all []string
		for _, one := range slices.Concat(defaults, added) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
		return all
	}
	given, defaults := v.Exclude.excluded, v.Exclude.Defaults
	return excluded{
		Namespaces: with(defaults.Namespaces, given.Namespaces),
		Names:      with(defaults.Names, given.Names), Labels: with(defaults.Labels, given.Labels),
	}
}

func (v Values) injectProxyEnv(entries, machines string) (Made, error) {
	names, err := patterns(v.excluded().Names)
	if err != nil {
		return Made{}, err
	}
	requirements, rest := excludedLabels(v.excluded().Labels)
	labels, err := patterns(rest)
	if err != nil {
		return Made{}, err
	}
	variables := map[string]string{
		"optIn": strconv.FormatBool(v.OptIn), "hostNetwork": strconv.FormatBool(v.Exclude.HostNetwork == nil || *v.Exclude.HostNetwork),
		"machines": machines, "excludedNames": names, "excludedLabels": labels,
	}
	if entries != "" {
		variables["entries"], variables["sources"] = entries, "[]"
	}
	if entries != "" || v.Exclude.Sources != nil {
		if variables["excludedSources"], err = patterns(v.sources()); err != nil {
			return Made{}, err
		}
	}
	return Made{From: InjectProxyEnv, Settings: Settings{
		Name: InjectProxyEnv, Variables: variables, ExcludedNamespaces: nonNil(v.excluded().Namespaces), ExcludedLabels: requirements,
	}}, nil
}

// inSelectors is what of exclude.labels a selector can say: fairlead-policies.excludedLabels in the chart's _helpers.tpl.
var inSelectors = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?=([*]|([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?)$`)

// excludedLabels are the requirements of a selector, and the patterns that are left.
func excludedLabels(given []string) (requirements []metav1.LabelSelectorRequirement, rest []string) {
	values := map[string][]string{}
	for _, pattern := range given {
		if !inSelectors.MatchString(pattern) {
			rest = append(rest, pattern)
			continue
		}
		key, value, _ := strings.Cut(pattern, "=")
		if !slices.Contains(values[key], value) {
			values[key] = append(values[key], value)
		}
	}
	requirements = []metav1.LabelSelectorRequirement{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		requirement := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values[key]}
		if slices.Contains(values[key], "*") {
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpDoesNotExist, nil
		}
		requirements = append(requirements, requirement)
	}
	return requirements, rest
}

// relay adds the settings of fairlead-relay.
func (v Values) relay(data map[string]any) error {
	image, err := v.relayImage()
	if err != nil {
		return err
	}
	resources := v.Tunnels.Relay.Resources
	if resources == nil {
		resources = map[string]map[string]quantity{} // null in JSON
	}
	data["image"], data["resources"] = image, resources
	data["through"], data["optional"] = v.TrustedCA.mounted(), strings.TrimSpace(v.TrustedCA.Bundle) == ""
	if secrets := v.Tunnels.Relay.ImagePullSecrets; len(secrets) > 0 {
		names := []string{}
		for _, secret := range secrets {
			names = append(names, secret.Name)
		}
		data["pullSecrets"] = names
	}
	return nil
}

func (v Values) relayImage() (string, error) {
	image := v.Tunnels.Relay.Image
	if registry := v.Global.ImageRegistry; registry != "" {
		if path, ours := strings.CutPrefix(image.Repository, "ghcr.io/"); ours {
			image.Repository = strings.TrimSuffix(registry, "/") + "/" + path
		}
	}
	if image.Digest != "" {
		return image.Repository + "@" + image.Digest, nil
	}
	if image.Tag == "" {
		var chart struct {
			AppVersion string `json:"appVersion"`
		}
		if err := yaml.Unmarshal(charts.PolicyChart, &chart); err != nil {
			return "", fmt.Errorf("the chart's Chart.yaml: %w", err)
		}
		image.Tag = chart.AppVersion
	}
	return image.Repository + ":" + image.Tag, nil
}

// patterns are regular expressions of patterns with *, as CEL.
func patterns(given []string) (string, error) {
	text, err := json.MarshalIndent(expressions(given), "", "  ") // as Sprig's toPrettyJson
	return string(text), err
}

// sources are those of exclude.sources, where what a container gets wins over them.
func (v Values) sources() []string {
	if v.Exclude.Sources == nil {
		return []string{"*proxy*"}
	}
	return v.Exclude.Sources
}

// LeavesAlone says whether a container with such a source gets nothing, where what it would get would win over the source.
func (v Values) LeavesAlone(source string) bool {
	return slices.ContainsFunc(expressions(v.sources()), func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(source) })
}

func expressions(given []string) []string {
	all := []string{}
	for _, pattern := range given {
		all = append(all, "^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$")
	}
	return all
}

// nonNil is [] in JSON, where nil is null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
