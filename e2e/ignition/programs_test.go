// Package ignition_test has Ignition itself judge what Fairlead writes for it: the
// oldest that takes the version of our configs writes them into a folder, and the
// newest validates them.
package ignition_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// ignitionProgram is Debian's, 2.14, which takes configs up to 3.3.0. Called
// ignition-apply, it does what it does at a first boot, below a folder.
const ignitionProgram = "/usr/lib/dracut/modules.d/30ignition/ignition"

// apply returns what Ignition says.
func apply(t *testing.T, root string, config any) (string, error) {
	t.Helper()
	_, err := os.Stat(ignitionProgram)
	if err == nil && os.Geteuid() != 0 {
		err = fmt.Errorf("%s gives files to root, and this is not root", ignitionProgram)
	}
	if err != nil {
		controlplanetest.Require(t, fmt.Errorf("%w: %w", tools.ErrUnavailable, err))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, ignitionProgram, "--root", root, "-")
	cmd.Args[0] = "ignition-apply"
	cmd.Env = []string{"container=test", "PATH=" + os.Getenv("PATH")} // it writes nothing outside containers
	text, err := json.Marshal(config)
	controlplanetest.Require(t, err)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// validate returns what ignition-validate of the newest Ignition says.
func validate(t *testing.T, program string, config []byte) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-")
	cmd.Stdin = bytes.NewReader(config)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// rendered is the config that Fairlead writes for a machine, which the error names so.
func rendered(t *testing.T, name any, machine resolve.Effective, variant ignition.Variant) []byte {
	t.Helper()
	config, err := render.Ignition(machine, variant)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return config
}

func decode(t *testing.T, text []byte) ignitionConfig {
	t.Helper()
	var config ignitionConfig
	controlplanetest.Require(t, json.Unmarshal(text, &config))
	return config
}

// ignitionConfig is an Ignition config, as far as tests change it.
type ignitionConfig struct {
	Ignition struct {
		Version string         `json:"version"`
		Proxy   *proxy         `json:"proxy,omitempty"`
		Config  map[string]any `json:"config,omitempty"`
		Timeout map[string]int `json:"timeouts,omitempty"`
	} `json:"ignition"`
	Storage struct {
		Files []map[string]any `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []map[string]any `json:"units"`
	} `json:"systemd"`
}

type proxy struct {
	HTTP    string   `json:"httpProxy"`
	HTTPS   string   `json:"httpsProxy"`
	NoProxy []string `json:"noProxy"`
}

func read(t *testing.T, root, path string) (string, os.FileMode) {
	t.Helper()
	info, err := os.Stat(filepath.Join(root, path))
	controlplanetest.Require(t, err)
	content := controlplanetest.ReadFile(t, filepath.Join(root, path))
	return string(content), info.Mode().Perm()
}
