// Package charts holds the default values of the charts, for programs that do what a chart does.
package charts

import _ "embed"

// PolicyValues is the values.yaml of fairlead-policies.
//
//go:embed fairlead-policies/values.yaml
var PolicyValues []byte
