package doctor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
)

// hub is a name that nobody can resolve: only a proxy could.
const hub = "hub.fleet.test"

// agent is a real program, and how it is told its hub.
type agent struct {
	tool  tools.Tool
	image string
	args  []string
}

var (
	anp     = []string{"--proxy-server-host=" + hub, "--proxy-server-port=443", "--keepalive-time=30s"}
	frp     = []string{"tcp", "-n", "x", "-l", "1", "-r", "2", "-s", hub, "-P", "443"}
	anp01   = agent{tools.ANPAgent01, "proxy-agent:v0.1.6", anp}
	anp031  = agent{tools.ANPAgent031, "proxy-agent:v0.31.4", anp}
	anp034  = agent{tools.ANPAgent034, "proxy-agent:v0.34.0", anp}
	frpc044 = agent{tools.FRPC044, "frpc:v0.44.0", []string{"tcp", "-n", "x", "-l", "1", "-r", "2", "-s", hub + ":443"}}
	frpc061 = agent{tools.FRPC061, "frpc:v0.61.0", frp}
	frpc070 = agent{tools.FRPC070, "frpc:v0.70.1", frp}
	chisel  = agent{tools.Chisel, "chisel:1.11.3", []string{"client", "--max-retry-count=0", "https://" + hub, "R:1:a:1"}}
)

// through is the agent with its proxy in an argument, where chisel reads it.
func (a agent) through(url string) agent {
	a.args = append([]string{"client", "--proxy=" + url}, a.args[1:]...)
	return a
}

// Doctor says about a pod the same as its program does. PROXY stands for the address of a listener in the proxy's
// place, which notes how a client speaks to it.
func TestWhatDoctorSaysIsWhatTheProgramsDo(t *testing.T) {
	tier.Full(t)
	const connect, tls, nothing = "CONNECT", "TLS", "nothing"
	for name, test := range map[string]struct {
		agent
		env     []string
		through string // as doctor says
		speaks  string // as the program does, to the proxy
	}{
		"anp 0.1, HTTPS_PROXY":            {anp01, []string{"HTTPS_PROXY=http://PROXY"}, "Proxy", connect},
		"anp 0.31, https_proxy":           {anp031, []string{"https_proxy=http://PROXY"}, "Proxy", connect},
		"anp 0.34, HTTPS_PROXY":           {anp034, []string{"HTTPS_PROXY=http://PROXY", "NO_PROXY=.svc"}, "Proxy", connect},
		"anp 0.34, an empty one before":   {anp034, []string{"HTTPS_PROXY=", "https_proxy=http://PROXY"}, "Proxy", connect},
		"anp 0.34, HTTP_PROXY alone":      {anp034, []string{"HTTP_PROXY=http://PROXY", "http_proxy=http://PROXY"}, "Direct", nothing},
		"anp 0.31, the hub in NO_PROXY":   {anp031, []string{"HTTPS_PROXY=http://PROXY", "NO_PROXY=fleet.test"}, "Direct", nothing},
		"anp 0.34, the hub in NO_PROXY":   {anp034, []string{"HTTPS_PROXY=http://PROXY", "NO_PROXY=.fleet.test"}, "Direct", nothing},
		"anp 0.34, another port there":    {anp034, []string{"HTTPS_PROXY=http://PROXY", "NO_PROXY=hub.fleet.test:8091"}, "Proxy", connect},
		"anp 0.31, without a port":        {anp031, []string{"HTTPS_PROXY=http://127.0.0.1"}, "Fails", nothing},
		"anp 0.34, without a port":        {anp034, []string{"HTTPS_PROXY=http://127.0.0.1"}, "Fails", nothing},
		"anp 0.31, TLS to the proxy":      {anp031, []string{"HTTPS_PROXY=https://PROXY"}, "Fails", connect},
		"anp 0.34, TLS to the proxy":      {anp034, []string{"HTTPS_PROXY=https://PROXY"}, "Fails", connect},
		"frpc 0.44, http_proxy":           {frpc044, []string{"http_proxy=http://PROXY"}, "Proxy", connect},
		"frpc 0.61, the hub in NO_PROXY":  {frpc061, []string{"http_proxy=http://PROXY", "NO_PROXY=*", "no_proxy=*"}, "Proxy", connect},
		"frpc 0.61, the other variables":  {frpc061, []string{"HTTP_PROXY=http://PROXY", "HTTPS_PROXY=http://PROXY", "https_proxy=http://PROXY"}, "Direct", nothing},
		"frpc 0.61, without a port":       {frpc061, []string{"http_proxy=http://127.0.0.1"}, "Fails", nothing},
		"frpc 0.61, TLS to the proxy":     {frpc061, []string{"http_proxy=https://PROXY"}, "Fails", nothing},
		"frpc 0.70, TLS to the proxy":     {frpc070, []string{"http_proxy=https://PROXY"}, "Proxy", tls},
		"chisel, the variables":           {chisel, []string{"HTTPS_PROXY=http://PROXY", "https_proxy=http://PROXY"}, "Direct", nothing},
		"chisel, the argument":            {chisel.through("http://PROXY"), nil, "Proxy", connect},
		"chisel, and NO_PROXY":            {chisel.through("http://PROXY"), []string{"NO_PROXY=*"}, "Proxy", connect},
		"chisel, TLS to the proxy":        {chisel.through("https://PROXY"), nil, "Fails", nothing},
		"chisel, the argument at the end": {agent{chisel.tool, chisel.image, []string{"client", "--max-retry-count=0", "https://" + hub, "R:1:a:1", "--proxy=http://PROXY"}}, nil, "Direct", nothing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := listen(t)
			at := func(texts []string) (all []string) {
				for _, text := range texts {
					all = append(all, strings.ReplaceAll(text, "//PROXY", "//"+proxy.address))
				}
				return all
			}
			a, env := test.agent, at(test.env)
			a.args = at(test.args)
			if got := a.diagnosed(t, env); got != test.through {
				t.Errorf("doctor says %s, want %s", got, test.through)
			}
			if got := a.observed(t, env, proxy); got != test.speaks {
				t.Errorf("the program speaks %s to the proxy, want %s", got, test.speaks)
			}
		})
	}
}

// listener takes the place of a proxy, and hangs up after the first line.
type listener struct {
	address string
	first   chan string
}

func listen(t *testing.T) listener {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	controlplanetest.Require(t, err)
	l := listener{socket.Addr().String(), make(chan string, 100)}
	machinetest.Accept(t, socket, func(connection net.Conn) {
		reader := bufio.NewReader(connection)
		if first, err := reader.Peek(1); err == nil && first[0] == 0x16 { // RFC 8446: a handshake
			l.first <- "TLS"
		} else if line, err := reader.ReadString('\n'); err == nil && strings.HasPrefix(line, "CONNECT "+hub+":443 ") {
			l.first <- "CONNECT"
		} else if err == nil {
			l.first <- line
		}
	})
	return l
}

// diagnosed returns doctor's answer about a pod with this program.
func (a agent) diagnosed(t *testing.T, env []string) string {
	t.Helper()
	container := map[string]any{"name": "agent", "image": a.image, "args": a.args}
	var variables []map[string]string
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		variables = append(variables, map[string]string{"name": name, "value": value})
	}
	container["env"] = variables
	pod, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"}, "spec": map[string]any{"containers": []any{container}}})
	controlplanetest.Require(t, err)
	var said doctor.Report
	out := command.Output(t, pod, "doctor", "tunnel", "-f", "-", "-o", "json", "--fail-on", "never")
	controlplanetest.Require(t, json.Unmarshal(out, &said))
	return string(said.Pods[0].Containers[0].Through)
}

// failed matches the message of the agent of apiserver-network-proxy when it could not connect. That agent never
// ends.
var failed = regexp.MustCompile(`(?i)cannot connect once|no such host|connection refused|missing port|transport: `)

// observed runs the program until it has spoken to the proxy, ended, or said that it cannot connect.
func (a agent) observed(t *testing.T, env []string, proxy listener) string {
	t.Helper()
	path := controlplanetest.Tool(t, a.tool)
	args := a.args
	if strings.HasPrefix(a.image, "proxy-agent") {
		args = append(args, a.needs(t)...)
	}
	program, err := process.Start(t.Context(), process.Spec{
		Name: a.image, Path: path, Args: args, Env: env, OnlyEnv: true, LogFile: filepath.Join(t.TempDir(), "log"),
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = program.Stop() })
	spoken := "nothing"
	controlplanetest.Await(t, a.image+" to try", func(context.Context) (bool, error) {
		log, err := program.Log()
		ended := err == nil && failed.MatchString(log)
		select {
		case <-program.Done():
			ended = true
		default:
		}
		select {
		case spoken = <-proxy.first:
			return true, nil
		default:
		}
		if !ended {
			return false, errors.Join(err, fmt.Errorf("so far: %s", log))
		}
		return true, nil
	})
	return spoken
}

// needs are the ports and the authority that the agent asks for, and that are about something else.
func (a agent) needs(t *testing.T) []string {
	t.Helper()
	certificate, _, err := cabundletest.Make("Example CA")
	controlplanetest.Require(t, err)
	file := filepath.Join(t.TempDir(), "ca.crt")
	controlplanetest.Require(t, os.WriteFile(file, []byte(certificate), 0o600))
	args := []string{"--ca-cert=" + file}
	for _, flag := range []string{"--health-server-port=", "--admin-server-port="} {
		port, err := ports.Reserve()
		controlplanetest.Require(t, err)
		controlplanetest.Require(t, port.Release())
		args = append(args, flag+port.String())
	}
	return args
}
