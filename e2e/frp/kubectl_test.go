package frp_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// mountHosts runs in a mount namespace of the hub's operator, whose DNS leads the tunnel's names to the hub.
func (s *site) mountHosts() error {
	const file = machine.Dir + "/hub-hosts"
	names := machine.HubAddress + " " + machine.HubName + " " + tunnelName + " " + strangerName + "\n"
	if err := os.WriteFile(file, []byte(names), 0o644); err != nil {
		return err
	}
	return unix.Mount(file, "/etc/hosts", "", unix.MS_BIND, "")
}

var kubectls atomic.Int64

// kubectl starts kubectl in the hub, for the API server by one of the tunnel's names.
func (s *site) kubectl(t *testing.T, name string, args ...string) *process.Process {
	t.Helper()
	config := s.cp.Admin()
	config.Host = "https://" + name
	kubeconfig, err := s.cp.Kubeconfig(config)
	controlplanetest.Require(t, err)
	home := t.TempDir()
	p, err := s.network.StartIn(t.Context(), machine.Internet, s.hosts, process.Spec{
		Name: "kubectl", Path: build(t, tools.Kubectl),
		Args:    append([]string{"--kubeconfig", kubeconfig, "--namespace", s.namespace}, args...),
		Env:     []string{"HOME=" + home},
		LogFile: filepath.Join(home, "kubectl-"+strconv.FormatInt(kubectls.Add(1), 10)+".log"),
	})
	controlplanetest.Require(t, err)
	return p
}

// get is kubectl get, of the note.
func (s *site) get(t *testing.T, name string) (string, error) {
	t.Helper()
	p := s.kubectl(t, name, "get", "configmap", note, "--output", "jsonpath={.data.nonce}", "--request-timeout", "30s")
	ended := p.Wait(t.Context())
	output, err := p.Log()
	controlplanetest.Require(t, err)
	return output, ended
}

// note is an object with a nonce.
const note = "note"

// write puts a new nonce into the note, without a tunnel.
func (s *site) write(t *testing.T, nonce string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: note}, Data: map[string]string{"nonce": nonce}}
	configMaps := s.clients.CoreV1().ConfigMaps(s.namespace)
	_, err := configMaps.Update(t.Context(), object, metav1.UpdateOptions{})
	if err != nil {
		_, err = configMaps.Create(t.Context(), object, metav1.CreateOptions{})
	}
	controlplanetest.Require(t, err)
}
