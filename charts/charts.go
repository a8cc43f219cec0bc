// Package charts holds what programs need to know of the charts in order to do what a chart does.
package charts

import "embed"

// Policies is fairlead-policies as far as it makes policies that a program evaluates. Their texts are in package policies.
//
//go:embed fairlead-policies/Chart.yaml fairlead-policies/values.yaml fairlead-policies/values.schema.json fairlead-policies/keys.json
//go:embed fairlead-policies/templates/_*.tpl fairlead-policies/templates/inject-proxy-env.yaml fairlead-policies/templates/tunnels.yaml
var Policies embed.FS
