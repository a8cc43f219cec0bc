// Package charts holds what programs need to know of the charts in order to do what a chart does.
package charts

import _ "embed"

// PolicyValues is the values.yaml of fairlead-policies.
//
//go:embed fairlead-policies/values.yaml
var PolicyValues []byte

// PolicyChart is its Chart.yaml.
//
//go:embed fairlead-policies/Chart.yaml
var PolicyChart []byte

// PolicyKeys says which keys at the root of its values are mistakes.
//
//go:embed fairlead-policies/keys.json
var PolicyKeys []byte
