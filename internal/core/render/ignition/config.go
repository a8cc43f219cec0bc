// Package ignition writes what a machine gets as a Butane config, and translates
// that to Ignition with the Butane library. It knows neither proxies nor clusters.
//
// The package is the only one that reaches the library, which can also read files
// for a config that names them. No field of Config does.
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

// Variant is the dialect of Butane for one operating system.
type Variant string

// The variants that are written.
const (
	Flatcar      Variant = "flatcar"
	FedoraCoreOS Variant = "fcos"
)

// Config is a Butane config, as far as we need one (Butane's configuration
// specifications for Flatcar v1.0.0 and Fedora CoreOS v1.4.0).
type Config struct {
	Ignition *Ignition `yaml:"ignition,omitempty"`
	Storage  struct {
		Files []File `yaml:"files,omitempty"`
	} `yaml:"storage"`
	Systemd struct {
		Units []Unit `yaml:"units,omitempty"`
	} `yaml:"systemd"`
}

// Ignition is for Ignition's own fetches.
type Ignition struct {
	Proxy    *Proxy    `yaml:"proxy,omitempty"`
	Security *Security `yaml:"security,omitempty"`
}

// Proxy has the fields that Ignition hands to golang.org/x/net/http/httpproxy,
// which net/http reads the environment with. Ignition joins the list by commas
// (Ignition, internal/resource/http.go).
type Proxy struct {
	HTTP    string `yaml:"http_proxy,omitempty"`
	HTTPS   string `yaml:"https_proxy,omitempty"`
	NoProxy []Text `yaml:"no_proxy,omitempty"`
}

// Security holds the authorities that Ignition trusts beside the system's.
type Security struct {
	TLS struct {
		Authorities []Contents `yaml:"certificate_authorities"`
	} `yaml:"tls"`
}

// File is one file, which is root's.
type File struct {
	Path     string   `yaml:"path"`
	Mode     Mode     `yaml:"mode"`
	Contents Contents `yaml:"contents"`
}

// Contents is the text of something.
type Contents struct {
	Inline Text `yaml:"inline"`
}

// Text is any text that is valid UTF-8.
type Text string

// MarshalYAML puts a text with a tab into double quotes. As a block, which is what
// the library takes for several lines, it could not be read back: a tab at the
// start of a line is taken for indentation.
func (t Text) MarshalYAML() (any, error) {
	if strings.Contains(string(t), "\t") {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: string(t)}, nil
	}
	return string(t), nil
}

// Mode is a file's permissions, written in octal.
type Mode int

// MarshalYAML returns the number as people write it.
func (m Mode) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprintf("%#o", int(m))}, nil
}

// Unit is a unit of our own, or drop-ins of one that is there.
type Unit struct {
	Name     string   `yaml:"name"`
	Enabled  bool     `yaml:"enabled,omitempty"`
	Contents string   `yaml:"contents,omitempty"`
	DropIns  []DropIn `yaml:"dropins,omitempty"`
}

// DropIn is one file of <unit>.d.
type DropIn struct {
	Name     string `yaml:"name"`
	Contents string `yaml:"contents"`
}

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
	// Compressed, the text of the same config would change with an upgrade of Go.
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
