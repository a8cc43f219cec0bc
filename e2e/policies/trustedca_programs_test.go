package policies_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// caProgram is a real one, with what makes it ask the server at $URL. It reads the first of the variables that is there.
type caProgram struct {
	name, needs string
	reads       []string
	command     []string
}

var (
	curl             = caProgram{"curl", "curl", []string{"CURL_CA_BUNDLE", "SSL_CERT_FILE"}, []string{"sh", "-c", `curl --silent --show-error --fail "$URL/"`}}
	requestsOfPython = caProgram{
		"requests", "/usr/lib/python3/dist-packages/requests",
		[]string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"},
		[]string{"/usr/bin/python3", "-c", `import os, requests; requests.get(os.environ["URL"])`},
	}
)

var caPrograms = []caProgram{
	curl, requestsOfPython,
	{"git", "git", []string{"GIT_SSL_CAINFO"}, []string{"sh", "-c", `git ls-remote "$URL/repository"`}},
	{"Python", "/usr/bin/python3", []string{"SSL_CERT_FILE"}, []string{"/usr/bin/python3", "-c", `import os, urllib.request; urllib.request.urlopen(os.environ["URL"])`}},
	{"Node.js", "node", []string{"NODE_EXTRA_CA_CERTS"}, []string{"node", "-e", `require("https").get(process.env.URL, r => r.resume()).on("error", e => { console.error(e.message); process.exit(1) })`}},
	{"Go", "go", []string{"SSL_CERT_FILE"}, nil},
}

func TestRealProgramsTrustTheCorporateCAWithTheEnvironmentAndFilesOfTheMutatedPod(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		controlplanetest.Require(t, fmt.Errorf("%w: a mount namespace takes root", tools.ErrUnavailable))
	}
	authority := newAuthority(t)
	c := startCA(t, "Native", authority)
	url := serveTLS(t, authority)
	mutated := c.contents(t, caPod(caContainer("c")))
	optedOut := caPod(caContainer("c"))
	optedOut.Annotations = exclude()
	unmutated := c.contents(t, optedOut)

	for _, program := range caPrograms {
		t.Run(program.name, func(t *testing.T) {
			program.require(t)
			if out, err := mutated.run(t, url, program.command); err != nil {
				t.Errorf("with the mutated pod's environment: %v\n%s", err, out)
			}
			if out, err := unmutated.run(t, url, program.command); err == nil {
				t.Errorf("without it, the server is trusted, too:\n%s", out)
			}
			without := mutated.without(program.reads...)
			if out, err := without.run(t, url, program.command); err == nil {
				t.Errorf("without %v, the server is trusted, too:\n%s", program.reads, out)
			}
			for _, variable := range program.reads {
				only := mutated.without(caVariables...)
				only.env[variable] = mutated.env[variable]
				if out, err := only.run(t, url, program.command); err != nil {
					t.Errorf("with %s alone: %v\n%s", variable, err, out)
				}
			}
		})
	}
	t.Run("WhatKeepsAVariableAwayIsReadByTheSameProgram", func(t *testing.T) { keepsAway(t, mutated, url) })
}

// keepsAway shows why a container that sets SSL_CERT_FILE or SSL_CERT_DIR gets no CURL_CA_BUNDLE, and one that sets
// CURL_CA_BUNDLE no REQUESTS_CA_BUNDLE: it would be read instead of what the container set.
func keepsAway(t *testing.T, pod podContents, url string) {
	t.Helper()
	for _, row := range []struct {
		program          caProgram
		own, value, ours string
	}{
		{curl, "SSL_CERT_FILE", caFile, "CURL_CA_BUNDLE"},
		{curl, "SSL_CERT_DIR", "/" + rehashed, "CURL_CA_BUNDLE"},
		{requestsOfPython, "CURL_CA_BUNDLE", caFile, "REQUESTS_CA_BUNDLE"},
	} {
		row.program.require(t)
		only := pod.without(caVariables...)
		only.env[row.own] = row.value
		if out, err := only.run(t, url, row.program.command); err != nil {
			t.Errorf("%s does not read %s: %v\n%s", row.program.name, row.own, err, out)
		}
		only.env[row.ours] = "/etc/hostname" // which has no certificate in it
		if out, err := only.run(t, url, row.program.command); err == nil {
			t.Errorf("%s reads %s although there is %s:\n%s", row.program.name, row.own, row.ours, out)
		}
	}
}

// require skips what this machine has not, and builds the client in Go.
func (p *caProgram) require(t *testing.T) {
	t.Helper()
	_, err := os.Stat(p.needs)
	if !filepath.IsAbs(p.needs) {
		_, err = exec.LookPath(p.needs)
	}
	if err != nil {
		controlplanetest.Require(t, fmt.Errorf("%w: %w: make deps installs it", tools.ErrUnavailable, err))
	}
	if p.name == "Go" {
		p.command = []string{filepath.Join(t.TempDir(), "get")}
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.command[0], "./testdata/get").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// serveTLS runs a web site with an empty git repository, on a certificate of the authority for localhost.
func serveTLS(t *testing.T, authority *machine.Authority) string {
	t.Helper()
	certificate, key, err := authority.Issue("localhost", "127.0.0.1")
	controlplanetest.Require(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// podContents has the environment and the files of a pod's first container.
type podContents struct {
	env   map[string]string
	files map[string][]byte
}

// contents creates a pod and reads its environment and its volumes as kubelet does. Secret and ConfigMap are the
// chart's: no replicator runs here, and the pod's namespace has none.
func (c caCluster) contents(t *testing.T, pod *corev1.Pod) podContents {
	t.Helper()
	stored, err := c.create(t.Context(), pod)
	controlplanetest.Require(t, err)
	secret, err := c.clients.CoreV1().Secrets(policies.Namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	trusted, err := c.clients.CoreV1().ConfigMaps(policies.Namespace).Get(t.Context(), policies.TrustedCA, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	found := podContents{env: map[string]string{}, files: map[string][]byte{}}
	for _, e := range stored.Spec.Containers[0].Env {
		found.env[e.Name] = e.Value
		if e.ValueFrom != nil {
			found.env[e.Name] = string(secret.Data[e.ValueFrom.SecretKeyRef.Key])
		}
	}
	for _, mount := range stored.Spec.Containers[0].VolumeMounts {
		i := slices.IndexFunc(stored.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		for _, item := range stored.Spec.Volumes[i].ConfigMap.Items {
			found.files[filepath.Join(mount.MountPath, item.Path)] = []byte(trusted.Data[item.Key])
		}
	}
	return found
}

func (p podContents) without(names ...string) podContents {
	p.env = maps.Clone(p.env)
	for _, name := range names {
		delete(p.env, name)
	}
	return p
}

// rehashed is where inPod leaves a folder as SSL_CERT_DIR has to be.
const rehashed = "etc/fairlead/ca-hashed"

// inPod puts the files in their places, in a mount namespace of its own: nothing of it is left on this machine.
const inPod = `
set -e
mount -t tmpfs none "$SCRATCH"
mkdir "$SCRATCH/upper" "$SCRATCH/work"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" /etc
cp -a "$FILES/." /
if [ -d /etc/fairlead/ca ]; then
	cp -a /etc/fairlead/ca /etc/fairlead/ca-hashed
	openssl rehash /etc/fairlead/ca-hashed
fi
exec env -i PATH="$PATH" HOME=/nonexistent URL="$URL" "$@"`

// run runs a command with the environment and the files, and nothing else that could tell it whom to trust.
func (p podContents) run(t *testing.T, url string, command []string) (string, error) {
	t.Helper()
	files := t.TempDir()
	for path, content := range p.files {
		target := filepath.Join(files, path)
		controlplanetest.Require(t, os.MkdirAll(filepath.Dir(target), 0o755))
		controlplanetest.Require(t, os.WriteFile(target, content, 0o644))
	}
	args := []string{"--mount", "--propagation=private", "sh", "-c", inPod, "sh"}
	for name, value := range p.env {
		args = append(args, name+"="+value)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, command...)...)
	cmd.Env = append(os.Environ(), "FILES="+files, "SCRATCH="+t.TempDir(), "URL="+url)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
