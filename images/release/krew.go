package release

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/fairlead-io/fairlead/images"
)

// downloads is where a release's files are.
const downloads = "https://github.com/fairlead-io/fairlead/releases/download"

// krew is the manifest of the plugin (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest).
var krew = template.Must(template.New("krew").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: fairlead
spec:
  version: v{{ .Version }}
  homepage: https://github.com/fairlead-io/fairlead
  shortDescription: Proxy settings of Cluster API fleets
  description: |
    Renders, checks and explains the HTTP proxy settings of the clusters of a Cluster API fleet: who goes through the proxy and who
    does not, how the fleet stands, what a change would do, and what is wrong with a cluster.
  platforms:
{{- range .Platforms }}
  - selector:
      matchLabels: {os: {{ .OS }}, arch: {{ .Arch }}}
    uri: {{ .URI }}
    sha256: {{ .Sum }}
    bin: {{ .Bin }}
    files:
    - {from: {{ .Bin }}, to: .}
    - {from: LICENSE, to: .}
{{- end }}
`))

// Krew writes fairlead.yaml, the manifest for krew, about the archives that are in the output.
func Krew(options Options) error {
	version, err := images.Version(options.Repository)
	if err != nil {
		return err
	}
	var platforms []map[string]string
	for _, platform := range Platforms {
		name := archiveName(version, platform)
		archive, err := os.ReadFile(filepath.Join(options.Output, name))
		if err != nil {
			return fmt.Errorf("the manifest for krew needs every archive: %w", err)
		}
		platforms = append(platforms, map[string]string{
			"OS": platform.OS, "Arch": platform.Architecture, "Bin": executable(platform),
			"URI": downloads + "/v" + version + "/" + name, "Sum": fmt.Sprintf("%x", sha256.Sum256(archive)),
		})
	}
	var out bytes.Buffer
	if err := krew.Execute(&out, map[string]any{"Version": version, "Platforms": platforms}); err != nil {
		return err
	}
	return options.write("fairlead.yaml", out.Bytes())
}
