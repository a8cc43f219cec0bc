package render

import (
	"bytes"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/templates/systemd"
)

// EnvironmentFile returns the file that units read with EnvironmentFile=. It is
// meant for containerd and kubelet, so it has the list for Go. Unlike what stands
// in Environment=, "systemctl show" does not show it to everyone. It is empty
// where nothing is set. The error is a *resolve.Problem.
func EnvironmentFile(e resolve.Effective) ([]byte, error) {
	return environmentFile(e, EnvironmentFileKey, environment(e, noproxy.AudienceGo))
}

// EnvironmentFileDropIn returns the drop-in with which any unit reads that file.
func EnvironmentFileDropIn(resolve.Effective) ([]byte, error) {
	return execute(systemd.EnvironmentFileDropIn, nil)
}

// RKE2Environment returns the file that rke2-server.service and
// rke2-agent.service read, and K3sEnvironment that of k3s.service: the same
// language (their units have EnvironmentFile=-/etc/default/%N). The variables are
// there twice: for the process, its kubelet and what it fetches before it has a
// containerd; and as CONTAINERD_NAME, which it hands to its containerd as NAME
// (github.com/k3s-io/k3s, pkg/agent/containerd). It puts the cluster's networks
// into its own NO_PROXY; CNI plugins inherit that of containerd, so both have the
// whole list (github.com/rancher/rke2/issues/4924).
func RKE2Environment(e resolve.Effective) ([]byte, error) { return rancherEnvironment(e, RKE2Key) }

// K3sEnvironment returns what [RKE2Environment] says.
func K3sEnvironment(e resolve.Effective) ([]byte, error) { return rancherEnvironment(e, K3sKey) }

func rancherEnvironment(e resolve.Effective, key string) ([]byte, error) {
	set := environment(e, noproxy.AudienceGo)
	for _, v := range set {
		set = append(set, variable{"CONTAINERD_" + v.name, v.value})
	}
	return environmentFile(e, key, set)
}

// CRIO returns the lines for /etc/sysconfig/crio, which crio.service reads with
// EnvironmentFile=. The error is a *resolve.Problem.
func CRIO(e resolve.Effective) ([]byte, error) {
	return environmentFile(e, "/etc/sysconfig/crio", environment(e, noproxy.AudienceGo))
}

func environmentFile(e resolve.Effective, field string, set []variable) ([]byte, error) {
	assignments, err := assign(set, environmentFileAssignment)
	if err != nil {
		return nil, problemAt(e, field, err)
	}
	return execute(systemd.EnvironmentFile, assignments)
}

// EtcEnvironment returns what is appended to /etc/environment, which pam_env
// reads at logins: of any client, so it has the list for any. It starts with an
// empty line, since the file may lack its last line end. The error is a
// *resolve.Problem.
func EtcEnvironment(e resolve.Effective) ([]byte, error) {
	assignments, err := assign(environment(e, noproxy.AudienceAny), pamAssignment)
	if err != nil {
		return nil, problemAt(e, EtcEnvironmentKey, err)
	}
	return execute(systemd.EtcEnvironment, assignments)
}

// assign writes each variable for a place.
func assign(set []variable, write func(name, value string) (string, error)) ([]string, error) {
	var assignments []string
	for _, v := range set {
		assignment, err := write(v.name, v.value)
		if err != nil {
			return nil, err
		}
		assignments = append(assignments, assignment)
	}
	return assignments, nil
}

// execute returns what a template makes; never nil, which would be null in the
// Secret, and so no key.
func execute(t *template.Template, data any) ([]byte, error) {
	out := bytes.NewBuffer([]byte{})
	err := t.Execute(out, data)
	return out.Bytes(), err
}
