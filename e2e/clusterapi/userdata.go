package clusterapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is one that a machine gets.
type File struct {
	Permissions, Owner string
	Content            string
}

// Files reads the files from the data, by their paths. It is no judge of whether cloud-init or Ignition take
// the data: those are tested on a machine.
func (data BootstrapData) Files() (map[string]File, error) {
	switch data.Format {
	case "cloud-config":
		return cloudConfigFiles(data.Value)
	case "ignition":
		return ignitionFiles(data.Value)
	default:
		return nil, fmt.Errorf("format %q", data.Format)
	}
}

func cloudConfigFiles(value []byte) (map[string]File, error) {
	var parsed struct {
		Files []struct{ Path, Owner, Permissions, Encoding, Content string } `json:"write_files"`
	}
	if err := yaml.Unmarshal(value, &parsed); err != nil {
		return nil, err
	}
	files := map[string]File{}
	for _, f := range parsed.Files {
		content := f.Content
		if f.Encoding == "base64" {
			decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(content))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			content = string(decoded)
		}
		files[f.Path] = File{Permissions: f.Permissions, Owner: f.Owner, Content: content}
	}
	return files, nil
}

// ignitionFiles: https://coreos.github.io/ignition/configuration-v2_3/
func ignitionFiles(value []byte) (map[string]File, error) {
	var parsed struct {
		Ignition struct{ Version string }
		Storage  struct {
			Files []struct {
				Path     string
				Mode     int
				User     struct{ Name string }
				Group    struct{ Name string }
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal(value, &parsed); err != nil {
		return nil, err
	}
	if parsed.Ignition.Version != "2.3.0" {
		return nil, fmt.Errorf("ignition version %q", parsed.Ignition.Version)
	}
	files := map[string]File{}
	for _, f := range parsed.Storage.Files {
		encoded, ok := strings.CutPrefix(f.Contents.Source, "data:,")
		if !ok {
			return nil, fmt.Errorf("%s: not a plain data URL", f.Path)
		}
		content, err := url.PathUnescape(encoded)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		files[f.Path] = File{Permissions: fmt.Sprintf("%04o", f.Mode), Owner: f.User.Name + ":" + f.Group.Name, Content: content}
	}
	return files, nil
}
