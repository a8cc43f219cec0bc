package ignition

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/coreos/butane/config/common"
	fcos "github.com/coreos/butane/config/fcos/v1_4"
	flatcar "github.com/coreos/butane/config/flatcar/v1_0"
	"github.com/coreos/vcontext/report"
	"go.yaml.in/yaml/v3"
)

// dialect is a version of a variant. Both are the oldest that have what we need,
// and become Ignition 3.3.0: every newer Butane and Ignition reads them, too.
type dialect struct {
	version   string
	translate func([]byte, common.TranslateBytesOptions) ([]byte, report.Report, error)
}

var dialects = map[Variant]dialect{
	Flatcar:      {"1.0.0", flatcar.ToIgn3_3Bytes},
	FedoraCoreOS: {"1.4.0", fcos.ToIgn3_3Bytes},
}

// Butane returns the config as YAML. Quoting is the library's, which is the one
// that Butane reads with.
func Butane(variant Variant, config Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(struct {
		Variant Variant `yaml:"variant"`
		Version string  `yaml:"version"`
		Config  `yaml:",inline"`
	}{variant, dialects[variant].version, config})
	return out.Bytes(), err
}

// Translate returns the same config as Ignition. The error says where the library
// refuses it, and not why: its reasons may quote what they are about.
func Translate(variant Variant, config Config) ([]byte, error) {
	butane, err := Butane(variant, config)
	if err != nil {
		return nil, err
	}
	// Compressed, the same config would be another one after an upgrade of Go.
	options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true}}
	json, report, err := dialects[variant].translate(butane, options)
	if err != nil {
		var places []string
		for _, entry := range report.Entries {
			if entry.Kind.IsFatal() {
				places = append(places, entry.Context.String())
			}
		}
		return nil, fmt.Errorf("is refused by Butane (%s)", strings.Join(places, ", "))
	}
	return append(json, '\n'), nil
}
