package tunnel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

// Whatever a manifest says, there is an answer or an error.
func FuzzAnyManifestIsAnswered(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "---\n") {
			f.Add(document)
		}
	}
	f.Add("spec: {containers: [{command: [openvpn, --http-proxy]}, {args: [client, --proxy], image: chisel}, {command: [sh, -c, 'A= frpc -c']}]}")
	f.Add("spec: {proxyAgent: {additionalArgs: [--keepalive-time]}, proxyServer: {entrypoint: {type: Hostname}}, proxyConfig: {httpsProxy: ':'}}")
	f.Fuzz(func(_ *testing.T, text string) {
		var object map[string]any
		if yaml.Unmarshal([]byte(text), &object) != nil {
			return
		}
		spec, _ := object["spec"].(map[string]any)
		if template, ok := spec["template"].(map[string]any); ok {
			object = template
		}
		m, _ := tunnel.Read[tunnel.ManagedProxy](object)
		m.Judge("", 900)
		if a, err := tunnel.Read[tunnel.AddOnDeployment](object); err == nil {
			a.Judge("", []tunnel.ManagedProxy{m})
		}
		policy, _ := tunnel.Read[tunnel.Policy](object)
		if pod, findings, err := tunnel.ReadPod(object); err == nil {
			tunnel.Judge(tunnel.Input{Pod: pod, Read: findings, Policies: []tunnel.Policy{policy}, IdleTimeout: 900})
		}
	})
}
