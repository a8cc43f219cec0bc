package render

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Talos returns the strategic patch of a machine configuration that sets the variables of PID 1 and all services
// (machine.env), none without a proxy. These are programs in Go. Talos has neither systemd nor a relay, so a delivery does
// not matter.
func Talos(e resolve.Effective) ([]byte, error) {
	return talos(e, func(variables map[string]string) any {
		return map[string]any{"machine": map[string]any{"env": variables}}
	})
}

// TalosEnvironment returns the document that takes the place of machine.env from Talos 1.13 on.
func TalosEnvironment(e resolve.Effective) ([]byte, error) {
	return talos(e, func(variables map[string]string) any {
		return map[string]any{"apiVersion": "v1alpha1", "kind": "EnvironmentConfig", "variables": variables}
	})
}

func talos(e resolve.Effective, document func(variables map[string]string) any) ([]byte, error) {
	variables := map[string]string{}
	for _, v := range environment(e, noproxy.AudienceGo) {
		if strings.ContainsFunc(v.value, func(r rune) bool { return isControl(r) || r > 0x7f }) {
			return nil, problemAt(e, "talos", notCarriable("%s contains a control character or one outside ASCII, which YAML cannot carry everywhere", v.name))
		}
		variables[v.name] = v.value
	}
	if len(variables) == 0 {
		return nil, nil
	}
	return yaml.Marshal(document(variables))
}
