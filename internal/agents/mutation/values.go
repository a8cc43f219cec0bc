package mutation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/charts"
)

// Ways in which the agents of a family leave.
const (
	ThroughEnvironment = "Environment"
	ThroughSidecar     = "Sidecar"
	ThroughRelay       = "Relay"
	ThroughNone        = "None"
)

// How agents get the settings.
const (
	CarrySecretRef = "SecretRef"
	CarryLiteral   = "Literal"
	CarryRelay     = "Relay"
)

// Values are those of charts/fairlead-policies, as far as they are about the policies here.
type Values struct {
	Cluster struct {
		Proxy proxyValues `json:"proxy"`
	} `json:"cluster"`
	Proxy   proxyValues `json:"proxy"`
	Carry   string      `json:"carry"`
	OptIn   bool        `json:"optIn"`
	Exclude struct {
		excluded
		Defaults    excluded `json:"defaults"`
		Sources     []string `json:"sources"`
		HostNetwork *bool    `json:"hostNetwork"` // nil is true

		// Not about what the policies do to pods.
		Authorization any `json:"authorization"`
		Until         any `json:"until"`
	} `json:"exclude"`
	Tunnels struct {
		Enabled    bool              `json:"enabled"`
		Namespaces []string          `json:"namespaces"`
		Families   map[string]Family `json:"families"`
		Relay      struct {
			Image struct {
				Repository string `json:"repository"`
				Tag        string `json:"tag"`
				Digest     string `json:"digest"`
			} `json:"image"`
			ImagePullSecrets []struct {
				Name string `json:"name"`
			} `json:"imagePullSecrets"`
			Resources map[string]map[string]quantity `json:"resources"`
		} `json:"relay"`
	} `json:"tunnels"`
	ManagementCluster struct {
		Enabled          bool     `json:"enabled"`
		EndpointRanges   []string `json:"endpointRanges"`
		TunnelNamespaces []string `json:"tunnelNamespaces"`
	} `json:"managementCluster"`
	TrustedCA trustedCA `json:"trustedCA"`
	Source    struct {
		Existing bool `json:"existing"`
	} `json:"source"`
	Relay  sharedRelay `json:"relay"`
	Global global      `json:"global"`

	// Not about the policies here.
	CommonLabels  any    `json:"commonLabels"`
	HTTPProxy     any    `json:"http_proxy"`
	HTTPSProxy    any    `json:"https_proxy"`
	NoProxy       any    `json:"no_proxy"`
	Engine        string `json:"engine"`
	FailurePolicy string `json:"failurePolicy"`
	Replicator    any    `json:"replicator"`
	Audit         any    `json:"audit"`
	Node          any    `json:"node"`
	Probe         any    `json:"probe"`
}

// excluded are the lists of exclude, and of its defaults.
type excluded struct {
	Namespaces []string `json:"namespaces"`
	Names      []string `json:"names"`
	Labels     []string `json:"labels"`
}

// Family is a row of tunnels.families; values.yaml of the chart says what each field means.
type Family struct {
	Labels           map[string][]string `json:"labels"`
	Containers       []string            `json:"containers"`
	Through          string              `json:"through"`
	ThroughTLS       string              `json:"throughTLS"`
	Reads            []string            `json:"reads"`
	ReplacesBareURLs bool                `json:"replacesBareURLs"`
	Flag             []string            `json:"flag"`
	Arguments        [][]string          `json:"arguments"`
	Targets          []string            `json:"targets"`
}

type trustedCA struct {
	Enabled bool   `json:"enabled"`
	Through string `json:"through"`
	Bundle  string `json:"bundle"`

	Variables any `json:"variables"` // of a policy that is not here
}

// mounted is how a relay gets it.
func (t trustedCA) mounted() string {
	if t.Through == "ClusterTrustBundle" {
		return t.Through
	}
	return "ConfigMap"
}

type proxyValues struct {
	HTTP     string  `json:"http"`
	HTTPS    string  `json:"https"`
	NoProxy  entries `json:"noProxy"`
	Previous struct {
		HTTP  string `json:"http"`
		HTTPS string `json:"https"`
	} `json:"previous"`
}

// sharedRelay is what pods with carry Relay name. The rest of it is not about the policies.
type sharedRelay struct {
	OnMachines bool
	ClusterIP  string
}

func (r *sharedRelay) UnmarshalJSON(data []byte) error {
	var known struct {
		OnMachines bool   `json:"onMachines"`
		ClusterIP  string `json:"clusterIP"`
	}
	err := json.Unmarshal(data, &known)
	*r = sharedRelay(known)
	return err
}

// global is what a parent chart gives to all charts. The rest of it is others'.
type global struct{ ImageRegistry string }

func (g *global) UnmarshalJSON(data []byte) error {
	var known struct {
		ImageRegistry string `json:"imageRegistry"`
	}
	err := json.Unmarshal(data, &known)
	*g = global(known)
	return err
}

// quantity is a text or a number, and a text in CEL, which has no map of both.
type quantity string

func (q *quantity) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		if text = string(data); json.Unmarshal(data, new(json.Number)) != nil {
			return errors.New("tunnels.relay.resources has something else than texts and numbers")
		}
	}
	*q = quantity(text)
	return nil
}

// ReadValues reads values files, each over the one before and all over the chart's own: maps merge, lists replace, and
// null removes what the chart has, as with Helm. No error quotes a value, which may have a password.
func ReadValues(files ...[]byte) (Values, error) {
	given := map[string]any{}
	for _, file := range files {
		next, err := decode(file)
		if err != nil {
			return Values{}, err
		}
		given = merged(given, next)
	}
	defaults, err := decode(charts.PolicyValues)
	if err != nil {
		return Values{}, err
	}
	known, err := readKeys()
	if err != nil {
		return Values{}, err
	}
	all, err := known.withoutForeign(merged(defaults, given))
	if err == nil {
		all, err = withoutNull(all, defaults, "")
	}
	if err != nil {
		return Values{}, err
	}
	if err := checkRequired(all); err != nil {
		return Values{}, err
	}
	var values Values
	encoded, err := json.Marshal(all)
	if err != nil {
		return Values{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&values); err != nil {
		return Values{}, valuesError(err)
	}
	return values, values.check()
}

func decode(file []byte) (map[string]any, error) {
	var content map[string]any
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil, errors.New("not valid YAML, or not a map")
	}
	return content, nil
}

// merged are two maps, the second over the first.
func merged(below, above map[string]any) map[string]any {
	result := maps.Clone(below)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range above {
		lower, isMap := result[key].(map[string]any)
		if upper, also := value.(map[string]any); isMap && also {
			value = merged(lower, upper)
		}
		result[key] = value
	}
	return result
}

// opaque are keys that are not about the policies here.
var opaque = []string{"global", "replicator", "audit", "probe"}

// withoutNull leaves out what null removes, which is what the chart has. Elsewhere null stays, and the schema refuses it.
func withoutNull(values, defaults map[string]any, at string) (map[string]any, error) {
	result := map[string]any{}
	for key, value := range values {
		inner, isMap := value.(map[string]any)
		_, has := defaults[key]
		switch {
		case at == "" && slices.Contains(opaque, key):
		case isMap:
			below, _ := defaults[key].(map[string]any)
			cleaned, err := withoutNull(inner, below, at+key+".")
			if err != nil {
				return nil, err
			}
			value = cleaned
		case value == nil && !has:
			return nil, fmt.Errorf("%s is null, which removes what the chart has, and the chart does not have it", at+key)
		}
		if value != nil {
			result[key] = value
		}
	}
	return result, nil
}

// required are the keys that must not be removed, by where they are.
var required = map[string][]string{
	"":                   {"carry", "optIn", "exclude", "tunnels"},
	"tunnels":            {"enabled", "namespaces", "families", "relay"},
	"tunnels.families.*": {"labels", "containers", "through"},
}

func checkRequired(all map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(required)) {
		within := map[string]map[string]any{"": all}
		for key := range strings.SplitSeq(path, ".") {
			if key != "" {
				within = step(within, key)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(within)) {
			for _, key := range required[path] {
				if _, found := within[at][key]; !found {
					return fmt.Errorf("%s is missing", strings.TrimPrefix(at+"."+key, "."))
				}
			}
		}
	}
	return nil
}

// step returns the maps below a key, or below all keys for *, by their paths.
func step(from map[string]map[string]any, key string) map[string]map[string]any {
	below := map[string]map[string]any{}
	for at, values := range from {
		for name, value := range values {
			if inner, isMap := value.(map[string]any); isMap && (key == name || key == "*") {
				below[strings.TrimPrefix(at+"."+name, ".")] = inner
			}
		}
	}
	return below
}

// valuesError names the field, and does not repeat the value.
func valuesError(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return typeError(err)
	}
	return err // json: unknown field "…"
}
