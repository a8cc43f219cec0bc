package judges_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// file is one of files[] of a KubeadmConfig, its content as it stands in the Secret.
type file struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Encoding    string `json:"encoding,omitempty"`
	Content     string `json:"content"`
}

// userData returns the user data that the bootstrap provider makes of the files, by its own
// code.
func userData(t *testing.T, format string, files []file) []byte {
	t.Helper()
	return ask(t, tools.UserData, map[string]any{"format": format, "files": files})
}

// ask sends a question as JSON to a program, and returns its output.
func ask(t *testing.T, tool tools.Tool, question any) []byte {
	t.Helper()
	program := controlplanetest.Tool(t, tool)
	input, err := json.Marshal(question)
	controlplanetest.Require(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return out
}

// boot starts a machine that finds the files through cloud-init.
func boot(t *testing.T, files []file) *machine.Machine {
	t.Helper()
	m, err := machinetest.Network(t).Boot(t.Context(), machine.Options{UserData: userData(t, "cloud-config", files), Progress: os.Stderr})
	controlplanetest.Require(t, err)
	result, err := m.AwaitFiles(t.Context())
	controlplanetest.Require(t, err)
	if len(result.Errors) > 0 {
		t.Errorf("cloud-init says: %q", result.Errors)
	}
	if _, err := m.ReadFile(files[len(files)-1].Path); err != nil {
		log, _ := m.ReadFile("/var/log/cloud-init.log")
		t.Fatalf("cloud-init has not understood its user data: %v\n%s", err, warnings.FindAll(log, 5))
	}
	return m
}

var warnings = regexp.MustCompile(`(?m)^.*WARNING.*$`)

// run runs a shell script in the machine.
func run(t *testing.T, m *machine.Machine, script string) {
	t.Helper()
	if out, err := m.Run(t.Context(), "sh", "-euc", script); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// proxyVariables returns the variables about proxies in an environment that env -0 printed.
func proxyVariables(environment []byte) map[string]string {
	found := map[string]string{}
	for assignment := range strings.SplitSeq(string(environment), "\x00") {
		name, value, _ := strings.Cut(assignment, "=")
		if strings.HasSuffix(strings.ToLower(name), "_proxy") {
			found[name] = value
		}
	}
	return found
}
