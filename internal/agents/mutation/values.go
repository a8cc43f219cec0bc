package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

// Ways in which the agents of a family leave.
const (
	ThroughEnvironment = "Environment"
	ThroughSidecar     = "Sidecar"
	ThroughRelay       = "Relay"
)

// How agents get the settings.
const (
	CarrySecretRef = "SecretRef"
	CarryLiteral   = "Literal"
	CarryRelay     = "Relay"
)

// Namespace stands for the namespace of the chart's release, of which there is none here. All pages use this one.
const Namespace = "fairlead-system"

// Values are the values of charts/fairlead-policies.
type Values struct {
	Carry    string
	Families []tunnel.Family // by name
	render   common.Values   // what templates see
}

// ReadValues reads values files, each over the one before and all over the chart's own, as Helm does. It refuses what the
// chart's schema refuses, and keys in the wrong place or spelling. No error quotes a value that may have a password.
func ReadValues(files ...[]byte) (Values, error) {
	given := map[string]any{}
	for _, file := range files {
		var next map[string]any
		if err := yaml.Unmarshal(file, &next); err != nil {
			return Values{}, errors.New("not valid YAML, or not a map")
		}
		given = loader.MergeMaps(given, next)
	}
	chart, err := load()
	if err != nil {
		return Values{}, err
	}
	release := common.ReleaseOptions{Name: chart.Name(), Namespace: Namespace}
	render, err := util.ToRenderValuesWithSchemaValidation(chart, given, release, &common.Capabilities{}, true)
	if err != nil {
		return Values{}, err
	}
	all, err := render.Table("Values")
	if err != nil {
		return Values{}, err
	}
	if err := checkSchema(all, chart.Schema); err != nil {
		return Values{}, err
	}
	if _, err := run(render, `{{ include "fairlead-policies.checkKeys" . }}`, false); err != nil {
		return Values{}, err
	}
	all["engine"] = "Native" // what is evaluated here is the API server's kind
	var read struct {
		Carry   string
		Tunnels struct{ Families map[string]tunnel.Family }
	}
	if err := decode(all, &read); err != nil {
		return Values{}, err
	}
	v := Values{Carry: read.Carry, render: render}
	for _, name := range slices.Sorted(maps.Keys(read.Tunnels.Families)) {
		family := read.Tunnels.Families[name]
		family.Name = name
		v.Families = append(v.Families, family)
	}
	return v, nil
}

// decode reads plain data as a type, which the schema has made sure of.
func decode(data, into any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the values: %w", typeError(err))
	}
	return nil
}

// withFamilies are the same values, with no families of tunnels but those whose policies have these names.
func (v Values) withFamilies(policies []string) Values {
	inner := func(m map[string]any, key string) map[string]any {
		copied, _ := m[key].(map[string]any)
		copied = maps.Clone(copied)
		m[key] = copied
		return copied
	}
	v.render = maps.Clone(v.render)
	values, _ := v.render.Table("Values")
	values = maps.Clone(values)
	v.render["Values"] = values
	maps.DeleteFunc(inner(inner(values, "tunnels"), "families"), func(name string, _ any) bool {
		return !slices.Contains(policies, "tunnel-"+name)
	})
	return v
}
