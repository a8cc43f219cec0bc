package mutation

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// together are the families by the names of their policies: fairlead-policies.tunnelPolicies in the chart's _tunnels.tpl.
func (v Values) together(proxy proxySettings) map[string][]Tunnel {
	noRelay := v.noRelay(proxy)
	by := map[string][]Tunnel{}
	for _, tunnel := range v.tunnels(proxy) {
		if !tunnel.TakesRelay() || noRelay == "" {
			by[tunnel.sharedName()] = append(by[tunnel.sharedName()], tunnel)
		}
	}
	return by
}

var (
	plainKey = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?$`)
	unusual  = regexp.MustCompile(`[^a-z0-9]+`)
)

// sharedName is fairlead-policies.tunnelPolicy in the chart's _tunnels.tpl.
func (t Tunnel) sharedName() string {
	keys := slices.Sorted(maps.Keys(t.Labels))
	name, all := "tunnel-"+strings.ToLower(t.Through), strings.Join(keys, ",")
	switch {
	case all == "fairlead.io/tunnel":
		return name
	case plainKey.MatchString(all):
		return name + "-" + all
	}
	for i, key := range keys {
		keys[i] = strings.ToLower(path.Base(key))
	}
	segments := unusual.ReplaceAllString(strings.Join(keys, "-"), "-")
	segments = strings.TrimSuffix(segments[:min(21, len(segments))], "-")
	return fmt.Sprintf("%s-%s-%.4x", name, segments, sha256.Sum256([]byte(all)))
}

// rows are fairlead-policies.tunnelRows in the chart's _tunnels.tpl.
func rows(tunnels []Tunnel) (string, error) {
	var lines []string
	for _, tunnel := range tunnels {
		settings := map[string]any{"labels": tunnel.Labels, "containers": nonNil(tunnel.Containers), "arguments": nonNil(tunnel.Arguments)}
		if tunnel.Through == ThroughRelay {
			settings["targets"] = nonNil(tunnel.Targets)
		} else {
			settings["reads"], settings["replacesBareURLs"] = nonNil(tunnel.Reads), tunnel.ReplacesBareURLs
		}
		if tunnel.Through == ThroughSidecar {
			settings["flag"] = nonNil(tunnel.Flag)
		}
		var row []string
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			text, err := json.Marshal(settings[key])
			if err != nil {
				return "", err
			}
			row = append(row, fmt.Sprintf("%q:dyn(%s)", key, text))
		}
		lines = append(lines, "{"+strings.Join(row, ",")+"}")
	}
	return "[\n  " + strings.Join(lines, ",\n  ") + "\n]", nil
}

// tunnel makes the policy of families that go one way and are known by the same label keys: templates/tunnels.yaml in the chart.
func (v Values) tunnel(name string, tunnels []Tunnel, entries, machines string) (Made, error) {
	data := map[string]any{}
	way := tunnels[0].Through
	if tunnels[0].TakesRelay() {
		if err := v.relay(data); err != nil {
			return Made{}, err
		}
	}
	variables := map[string]string{}
	for name, value := range data {
		expression, err := cel(value)
		if err != nil {
			return Made{}, err
		}
		variables[name] = expression
	}
	var errs [2]error
	variables["families"], errs[0] = rows(tunnels)
	if way != ThroughRelay {
		variables["excludedSources"], errs[1] = patterns(v.sources())
	}
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return Made{}, err
	}
	if way == ThroughEnvironment {
		variables["machines"] = machines
		if entries != "" {
			variables["entries"] = entries
		}
	}
	labels := map[string][]string{}
	for _, tunnel := range tunnels {
		for key, values := range tunnel.Labels {
			for _, value := range values {
				if !slices.Contains(labels[key], value) {
					labels[key] = append(labels[key], value)
				}
			}
		}
	}
	excluded := slices.DeleteFunc(v.excluded().Namespaces, func(name string) bool { return slices.Contains(v.Tunnels.Namespaces, name) })
	return Made{From: "tunnel-" + strings.ToLower(way), Tunnels: tunnels, Settings: Settings{
		Name: name, Labels: labels, Variables: variables, ExcludedNamespaces: nonNil(excluded),
	}}, nil
}
