package render

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/templates/systemd"
)

// EnvironmentFile returns the file that units read with EnvironmentFile=. It is
// meant for containerd and kubelet, so it has the list for Go. Unlike what stands
// in Environment=, "systemctl show" does not show it to everyone.
func EnvironmentFile(e resolve.Effective) ([]byte, error) {
	return environmentFile(e, EnvironmentFileKey, machineEnvironment(e, noproxy.AudienceGo))
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
	set := machineEnvironment(e, noproxy.AudienceGo)
	for _, v := range set {
		set = append(set, variable{"CONTAINERD_" + v.name, v.value})
	}
	return environmentFile(e, key, set)
}

// CRIO returns the lines for /etc/sysconfig/crio, which crio.service reads with
// EnvironmentFile=.
func CRIO(e resolve.Effective) ([]byte, error) {
	return environmentFile(e, "/etc/sysconfig/crio", environment(e, noproxy.AudienceGo))
}

func environmentFile(e resolve.Effective, field string, set []variable) ([]byte, error) {
	return fill(systemd.EnvironmentFile, e, field, set, environmentFileAssignment)
}

// environmentFileAssignment returns NAME="value" for a file that a unit reads
// with EnvironmentFile=. It is another language than that of unit files
// (systemd.exec(5), "EnvironmentFile="; src/basic/env-file.c,
// parse_env_file_internal): there are no specifiers; inside double quotes a
// backslash escapes \, ", ` and $ alone, and every other byte, line ends
// included, stands for itself.
//
// Quoted texts without a blank between them are one, as in a shell. That is how
// {{, {% and {# are kept away from jinja (see checkUserData): "{""{".
func environmentFileAssignment(name, value string) (string, error) {
	if err := checkVariable(name, value); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(name + `="`)
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"', '`', '$':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '{':
			b.WriteString(`{""`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}

// EtcEnvironment returns what is appended to /etc/environment, which pam_env
// reads at logins: of any client, so it has the list for any. It starts with an
// empty line, since the file may lack its last line end.
func EtcEnvironment(e resolve.Effective) ([]byte, error) {
	return fill(systemd.EtcEnvironment, e, EtcEnvironmentKey, machineEnvironment(e, noproxy.AudienceAny), pamAssignment)
}

// MaxPAMLine is the longest line, name and "=" included, that pam_env reads of
// /etc/environment (Linux-PAM 1.4 and 1.5, measured: a longer one is dropped, and
// everything after it is not read; 1.7 has no such limit).
const MaxPAMLine = 8190

// pamAssignment returns NAME=value for /etc/environment, which pam_env(8) reads.
// That language has no escapes (Linux-PAM, modules/pam_env/pam_env.c,
// _parse_env_file): a # ends the value wherever it stands, quotes at the ends are
// taken off, a backslash at the end joins lines, blanks at the ends are read in
// more than one way. What it cannot carry is refused.
func pamAssignment(name, value string) (string, error) {
	line := name + "=" + value
	switch {
	case strings.ContainsFunc(value, isControl):
		return "", notCarriable("%s contains a line end or another control character, which /etc/environment cannot carry", name)
	case strings.Contains(value, "#"):
		return "", notCarriable("%s contains a #, which ends a value in /etc/environment", name)
	case strings.Trim(value, `"'`) != value:
		return "", notCarriable("%s has a quote at an end, which /etc/environment loses", name)
	case strings.HasSuffix(value, `\`):
		return "", notCarriable("%s ends in a backslash, which joins lines in /etc/environment", name)
	case strings.Trim(value, " ") != value:
		return "", notCarriable("%s has a blank at an end, which /etc/environment loses", name)
	case len(line) > MaxPAMLine:
		return "", tooLong("%s makes a line of %d bytes; /etc/environment carries at most %d", name, len(line), MaxPAMLine)
	}
	return line, nil
}
