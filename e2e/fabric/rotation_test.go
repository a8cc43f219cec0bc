package fabric_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The second account.
const nextUser, nextPassword = "corp-2", "s3cond"

// account is one at the proxy, as the source has it.
func account(user, password string) string {
	return (&url.URL{Scheme: "http", User: url.UserPassword(user, password), Host: fmt.Sprintf("%s:%d", machine.ProxyAddress, machine.ProxyPort)}).String()
}

// setSource makes or changes the Secret fairlead-source.
func (f *fabric) setSource(current, previous string) {
	f.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-source"}, Data: map[string][]byte{
		"HTTP_PROXY": []byte(current), "HTTPS_PROXY": []byte(current), "NO_PROXY": []byte(".svc,.cluster.local,172.16.0.0/16,corp.example"),
	}}
	if previous != "" {
		secret.Data["HTTP_PROXY_PREVIOUS"], secret.Data["HTTPS_PROXY_PREVIOUS"] = []byte(previous), []byte(previous)
	}
	of := f.clients.CoreV1().Secrets(system)
	_, err := of.Create(f.t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = of.Update(f.t.Context(), secret, metav1.UpdateOptions{})
	}
	controlplanetest.Require(f.t, err)
}

// startFollow keeps the folder of all relays as the Secret says.
func (f *fabric) startFollow(cp *controlplane.ControlPlane) {
	f.t.Helper()
	f.folder = f.t.TempDir()
	program := controlplanetest.Program(f.t, "fairlead-operator")
	health, err := ports.Reserve()
	controlplanetest.Require(f.t, err)
	p, err := cp.Run(f.t.Context(), process.Spec{
		Name: "follow", Path: program,
		Args:  []string{"follow", "--kubeconfig=" + cp.AdminKubeconfig(), "--namespace=" + system, "--folder=" + f.folder, "--health-address=" + health.Address()},
		Ready: process.Answers("http://" + health.Address() + "/readyz"),
	})
	controlplanetest.Require(f.t, err)
	f.t.Cleanup(p.Kill)
}

// askers are programs of pods that ask for ever, and write the status of each answer. Java's is a file.
func askers(java string) map[string][]string {
	return map[string][]string{
		"curl": {"sh", "-c", `while :; do curl -sk -o /dev/null -w '%{http_code}\n' https://` + machine.InternetName + `/; sleep 0.2; done`},
		"python": {"python3", "-u", "-c", `
import time, warnings, requests
warnings.simplefilter("ignore")
session = requests.Session()
while True:
    print(session.get("https://` + machine.InternetName + `/", verify=False).status_code)
    time.sleep(0.2)
`},
		"java": {"java", "-Dhttp.proxyHost=fairlead-relay." + system + ".svc", "-Dhttp.proxyPort=" + strconv.Itoa(port), java, "http://" + machine.InternetName + "/"},
		"node": {"node", "-e", `
const http = require("http"), proxy = new URL(process.env.http_proxy)
const ask = () => http.get({host: proxy.hostname, port: proxy.port, path: "http://` + machine.InternetName + `/", headers: {host: "` + machine.InternetName + `"}},
  answer => { answer.resume(); console.log(answer.statusCode); setTimeout(ask, 200) }).on("error", e => { console.log(e.message); setTimeout(ask, 200) })
ask()
`},
	}
}

// Running pods go on while the password changes and the old one is revoked, and so does a tunnel, which connects again by
// itself.
func testRotation(t *testing.T, f *fabric, client *pod) {
	t.Helper()
	running := map[string]*process.Process{}
	ask, err := filepath.Abs("testdata/Ask.java")
	controlplanetest.Require(t, err)
	for name, command := range askers(ask) {
		running[name] = client.start(process.Spec{Name: "asker-" + name, Path: command[0], Args: command[1:], Env: variables("shop")})
		t.Cleanup(running[name].Kill)
	}
	tunnel := f.startFrp(t, client)
	running["frpc"] = tunnel.agent
	under := client.load(2)
	answersGoOn(t, running)
	pids := pidsOf(running)

	controlplanetest.Require(t, f.squid.SetUsers(t.Context(), map[string]string{user: password, nextUser: nextPassword}))
	f.setSource(account(nextUser, nextPassword), account(user, password))
	f.awaitUser(t, nextUser)
	answersGoOn(t, running) // until what began with the old settings alone has ended
	under.awaitUnderWay(t)

	controlplanetest.Require(t, f.squid.SetUsers(t.Context(), map[string]string{nextUser: nextPassword}))
	f.setSource(account(nextUser, nextPassword), "")
	answersGoOn(t, running)
	tunnel.check(t)
	tunnel.server.Kill()
	tunnel.server = f.start(machine.Internet, tunnel.serverSpec) // so that the agent connects again
	tunnel.check(t)
	under.stop()
	under.noneFailed(t)
	for name, p := range running {
		if name != "frpc" {
			onlyAnswers(t, name, p)
		}
	}
	if now := pidsOf(running); now != pids {
		t.Errorf("processes were %s and are %s", pids, now)
	}
}

func pidsOf(running map[string]*process.Process) string {
	pids := map[string]int{}
	for name, p := range running {
		select {
		case <-p.Done():
			pids[name] = 0
		default:
			pids[name] = p.PID()
		}
	}
	return fmt.Sprint(pids)
}

// answersGoOn returns when each program has written more answers.
func answersGoOn(t *testing.T, running map[string]*process.Process) {
	t.Helper()
	for name, p := range running {
		if name == "frpc" {
			continue
		}
		from, err := p.Log()
		controlplanetest.Require(t, err)
		controlplanetest.Await(t, "more answers of "+name, func(context.Context) (bool, error) {
			log, err := p.Log()
			return strings.Count(log, "\n") > strings.Count(from, "\n")+3, err
		})
	}
}

// onlyAnswers holds that all answers to a program that asks for ever are 200.
func onlyAnswers(t *testing.T, name string, p *process.Process) {
	t.Helper()
	log, err := p.Log()
	controlplanetest.Require(t, err)
	if others := strings.ReplaceAll(log, "200\n", ""); others != "" {
		t.Errorf("%s: %q", name, others)
	}
}

// awaitUser returns when squid has served a request of this user.
func (f *fabric) awaitUser(t *testing.T, user string) {
	t.Helper()
	controlplanetest.Await(t, "a request of "+user, func(context.Context) (bool, error) {
		requests, err := f.squid.Requests()
		return slices.ContainsFunc(requests, func(r machine.Request) bool { return r.User == user && r.Status == 200 }), err
	})
}

// frp is a reverse tunnel, whose agent is in a pod, and whose server in the internet.
type frp struct {
	fabric        *fabric
	agent, server *process.Process
	serverSpec    process.Spec
}

func (f *fabric) startFrp(t *testing.T, client *pod) *frp {
	t.Helper()
	folder := t.TempDir()
	write(t, folder+"/frps.toml", fmt.Sprintf("bindAddr = %q\nbindPort = 443\n", machine.HubAddress))
	write(t, folder+"/frpc.toml", fmt.Sprintf("serverAddr = %q\nserverPort = 443\nloginFailExit = false\n[[proxies]]\nname = \"web\"\ntype = \"tcp\"\nlocalIP = %q\nlocalPort = 9000\nremotePort = 7000\n", machine.HubName, client.address))
	f.serve(client.listen(9000), "from inside")
	tunnel := &frp{fabric: f, serverSpec: process.Spec{
		Name: "frps", Path: controlplanetest.Tool(t, tools.FRPS061), Args: []string{"-c", folder + "/frps.toml"},
	}}
	tunnel.server = f.start(machine.Internet, tunnel.serverSpec)
	tunnel.agent = client.start(process.Spec{
		Name: "frpc", Path: controlplanetest.Tool(t, tools.FRPC061), Args: []string{"-c", folder + "/frpc.toml"}, Env: variables("shop"),
	})
	t.Cleanup(func() { tunnel.agent.Kill(); tunnel.server.Kill() })
	tunnel.check(t)
	return tunnel
}

// check asks through the tunnel, from the internet.
func (f *frp) check(t *testing.T) {
	t.Helper()
	controlplanetest.Await(t, "an answer through the tunnel", func(ctx context.Context) (bool, error) {
		out, err := f.fabric.network.Run(ctx, machine.Internet, nil, "curl", "-sS", "--max-time", "2", "http://"+net.JoinHostPort(machine.HubAddress, "7000")+"/")
		return string(out) == "from inside", err
	})
}
