package nodes_test

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/images"
)

// The second account, and what is to be found of both passwords wherever they stand in a URL.
const (
	nextUsername = "nodes-2@corp.example"
	nextPassword = "s3cond %40:n/é"

	inURL     = "p%2540ss"
	nextInURL = "s3cond%20"
)

const (
	relayBinary   = "/opt/fairlead/bin/fairlead-relay"
	relaySettings = "/etc/fairlead/relay/settings"
	relayImage    = "fairlead-relay:1"
)

func relayed() v1alpha1.NodeSettings {
	return v1alpha1.NodeSettings{
		Delivery: "Relay", Relay: v1alpha1.MachineRelay{Image: machine.InternetName + "/" + relayImage}, Files: []string{"StaticPods"}, Base64Twins: true,
	}
}

func TestAMachineWithARelayFollowsANewPasswordAndNothingOfItRestarts(t *testing.T) {
	tier.Full(t)
	site := newSite(t)
	for _, name := range []string{"hello:2", "hello:3"} {
		controlplanetest.Require(t, site.internet.Push(t.Context(), name))
	}
	fleet := newFleet(t, site.authority.PEM(), relayed())
	data := fleet.bootstrapData(t, exampleSpec(t, "kubeadm-debian-relay.yaml"))
	m := site.boot(t, data, map[string]string{relayBinary: controlplanetest.Program(t, "fairlead-relay")})
	for _, host := range []string{machine.ServiceAddress, machine.EndpointAddress, machine.InternetName} {
		controlplanetest.Require(t, m.Pull(t.Context(), host+"/"+image))
	}
	wantPassword(t, m, inURL, relaySettings)
	before := processes(t, m)

	// The company makes a second account, and the platform team says so once.
	controlplanetest.Require(t, site.squid.SetUsers(t.Context(), map[string]string{username: password, nextUsername: nextPassword}))
	fleet.setCredentials(t, map[string]string{"username": nextUsername, "password": nextPassword, "previousUsername": username, "previousPassword": password})
	fleet.follow(t, m)
	fleet.publishSource(t)
	awaitSettings(t, m, func(settings string) bool {
		return strings.Contains(settings, "HTTPS_PROXY=http://nodes-2%40corp.example:"+nextInURL) && strings.Contains(settings, "HTTPS_PROXY_PREVIOUS=http://nodes%40corp.example:"+inURL)
	})
	controlplanetest.Require(t, site.squid.SetUsers(t.Context(), map[string]string{nextUsername: nextPassword}))
	controlplanetest.Require(t, m.Pull(t.Context(), machine.InternetName+"/hello:2"))

	// The first one is revoked.
	fleet.setCredentials(t, map[string]string{"username": nextUsername, "password": nextPassword})
	fleet.publishSource(t)
	awaitSettings(t, m, func(settings string) bool { return !strings.Contains(settings, "PREVIOUS") })
	wantPassword(t, m, inURL)
	wantPassword(t, m, nextInURL, relaySettings)
	if after := processes(t, m); after != before {
		t.Errorf("processes were %q and are %q", before, after)
	}
	fleet.wantNoneOutdated(t)

	t.Run("a new program", func(t *testing.T) {
		// As fairlead-node writes it: beside, and renamed.
		run(t, m, "cp "+relayBinary+" "+relayBinary+".new; printf x >>"+relayBinary+".new; mv "+relayBinary+".new "+relayBinary)
		controlplanetest.Await(t, "the restart of the relay", func(context.Context) (bool, error) {
			now := strings.Fields(processes(t, m))
			return controlplanetest.Holds(now[1] != "0" && now[1] != strings.Fields(before)[1], "they are %q", now)
		})
		controlplanetest.Require(t, m.Pull(t.Context(), machine.InternetName+"/hello:3"))
	})
	controlplanetest.Require(t, m.PowerOff(t.Context())) // ends the tunnels
	site.awaitTunnels(t, nextUsername, username)
}

// awaitTunnels awaits that squid has noted tunnels of these users, and has refused nobody. It notes them when they end.
func (s *site) awaitTunnels(t *testing.T, users ...string) {
	t.Helper()
	controlplanetest.Await(t, "the tunnels in squid's log", func(context.Context) (bool, error) {
		var seen []string
		for _, request := range s.requests(t) {
			if request.Method != "CONNECT" || request.Target != machine.InternetName+":443" || request.Status != 200 {
				t.Errorf("squid was asked: %+v", request)
			}
			if !slices.Contains(seen, request.User) {
				seen = append(seen, request.User)
			}
		}
		slices.Sort(seen)
		return controlplanetest.Holds(slices.Equal(seen, users), "they are of %q", seen)
	})
}

// Without the program in its image, a machine fetches it through the company's proxy, before there is a relay.
func TestAMachineWithoutTheProgramFetchesItThroughTheProxy(t *testing.T) {
	tier.Full(t)
	site := newSite(t)
	dir := t.TempDir()
	_, err := images.Build(t.Context(), images.Options{ // as it is released
		Repository: repository.Path(), Output: dir, Name: "fairlead-relay", Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}},
	})
	controlplanetest.Require(t, err)
	index, _ := registry.Archive(t, filepath.Join(dir, "fairlead-relay.tar"))
	controlplanetest.Require(t, site.internet.PushIndex(t.Context(), relayImage, index))
	fleet := newFleet(t, site.authority.PEM(), relayed())
	m := site.boot(t, fleet.bootstrapData(t, exampleSpec(t, "kubeadm-debian-relay.yaml")), nil)
	if err := m.Pull(t.Context(), machine.InternetName+"/"+image); err != nil {
		said, _ := m.Run(t.Context(), "journalctl", "--no-pager", "--unit=fairlead-relay*")
		t.Fatalf("%v\n%s", err, said)
	}
	wantPassword(t, m, inURL, relaySettings)
	for _, command := range []string{"ctr --namespace fairlead images ls --quiet", "ctr --namespace fairlead snapshots ls | tail --lines=+2", "grep fairlead-relay-install /proc/mounts || true"} {
		// containerd collects what nobody needs a moment after the image is gone.
		controlplanetest.Await(t, "nothing to be left of the image", func(ctx context.Context) (bool, error) {
			left, err := m.Run(ctx, "sh", "-c", command)
			return controlplanetest.Holds(err == nil && left == "", "%s: %q (%v)", command, left, err)
		})
	}
	controlplanetest.Require(t, m.PowerOff(t.Context()))
}

// A cluster that has gone off the proxy has units and no settings: its machines boot, and reach what they reach directly.
func TestAMachineWithARelayThatKnowsNoProxyBoots(t *testing.T) {
	tier.Full(t)
	site := newSite(t)
	fleet := newFleet(t, site.authority.PEM(), relayed())
	fleet.goDirect(t)
	data := fleet.bootstrapData(t, exampleSpec(t, "kubeadm-debian-relay.yaml"))
	m := site.boot(t, data, map[string]string{relayBinary: controlplanetest.Program(t, "fairlead-relay")})
	controlplanetest.Require(t, m.Pull(t.Context(), machine.ServiceAddress+"/"+image))
	failed, err := m.Run(t.Context(), "sh", "-c", "systemctl list-units --failed --plain --no-legend 'fairlead-*'; systemctl is-active fairlead-relay.socket")
	if err != nil || failed != "active\n" {
		t.Errorf("%q (%v)", failed, err)
	}
	said, err := m.Run(t.Context(), "sh", "-c", "curl --silent --show-error --proxy http://127.0.0.1:3128 https://"+machine.InternetName+" 2>&1; true")
	if err != nil || !strings.Contains(said, "502") {
		t.Errorf("the relay says %q (%v)", said, err)
	}
	controlplanetest.Require(t, m.PowerOff(t.Context()))
}

func (f *fleet) goDirect(t *testing.T) {
	t.Helper()
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	controlplanetest.Change(t, f.client, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.Delegation.Direct = "Allowed" })
	override := &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "mycluster"}}
	override.Spec.Mode = "Direct"
	controlplanetest.Require(t, f.client.Create(t.Context(), override))
	f.awaitSecret(t, "mycluster-systemd-proxy", func(s *corev1.Secret) bool {
		return strings.HasPrefix(string(s.Data["relaySettings"]), "HTTPS_PROXY=\n")
	})
}

// processes are the numbers of containerd and of the relay.
func processes(t *testing.T, m *machine.Machine) string {
	t.Helper()
	ids := run(t, m, "systemctl show --property=MainPID --value containerd.service fairlead-relay.service")
	return strings.Join(strings.Fields(ids), " ")
}

// wantPassword requires that a password is in these files of the machine, and neither in another one, nor in what systemd
// says, nor in the environment of any process. What cloud-init keeps of its user data is in base64, and root's.
func wantPassword(t *testing.T, m *machine.Machine, password string, files ...string) {
	t.Helper()
	found := strings.Fields(run(t, m, "find / /run -xdev -path /usr -prune -o -type f -exec grep -lF '"+password+"' {} + || true"))
	if !slices.Equal(found, files) {
		t.Errorf("%s is in %q, want %q", password, found, files)
	}
	for where, command := range map[string]string{
		"the environment of a process": "cat /proc/[0-9]*/environ 2>/dev/null || true",
		"a command line":               "cat /proc/[0-9]*/cmdline 2>/dev/null || true",
		"what systemd says":            "systemctl show '*'",
	} {
		text := run(t, m, command)
		if strings.Contains(text, password) {
			t.Errorf("%s is in %s", password, where)
		}
		if where != "a command line" && !strings.Contains(text, "HTTPS_PROXY=http://127.0.0.1:3128") {
			t.Errorf("the search is blind to %s", where)
		}
	}
	for _, file := range files {
		wantPrivate(t, m, file)
	}
}

func awaitSettings(t *testing.T, m *machine.Machine, are func(string) bool) {
	t.Helper()
	controlplanetest.Await(t, "the relay's settings", func(context.Context) (bool, error) {
		settings, err := m.ReadFile(relaySettings)
		return err == nil && are(string(settings)), err
	})
}

// setCredentials changes them in the management cluster, and awaits that they are in what the cluster gets.
func (f *fleet) setCredentials(t *testing.T, credentials map[string]string) {
	t.Helper()
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "corporate-proxy"}}
	controlplanetest.Change(t, f.client, source, func(s *corev1.Secret) { s.Data, s.StringData = nil, credentials })
	_, previous := credentials["previousPassword"]
	f.awaitSecret(t, "mycluster-cluster-values", func(s *corev1.Secret) bool {
		values := string(s.Data["values"])
		return strings.Contains(values, nextInURL) && strings.Contains(values, inURL) == previous
	})
}

// publishSource writes the Secret fairlead-source from the cluster's values, as the chart fairlead-policies does. The
// management cluster stands for the workload cluster.
func (f *fleet) publishSource(t *testing.T) {
	t.Helper()
	var values struct {
		Cluster struct {
			Proxy struct {
				HTTP, HTTPS, NoProxy string
				Previous             struct{ HTTP, HTTPS string }
			}
		}
	}
	secret := f.awaitSecret(t, "mycluster-cluster-values", func(*corev1.Secret) bool { return true })
	controlplanetest.Require(t, yaml.Unmarshal(secret.Data["values"], &values))
	proxy := values.Cluster.Proxy
	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "fairlead-source", Labels: map[string]string{"fairlead.io/secret": "source"}},
		StringData: map[string]string{"HTTP_PROXY": proxy.HTTP, "HTTPS_PROXY": proxy.HTTPS, "NO_PROXY": proxy.NoProxy},
	}
	if proxy.Previous.HTTPS != "" {
		source.StringData["HTTP_PROXY_PREVIOUS"], source.StringData["HTTPS_PROXY_PREVIOUS"] = proxy.Previous.HTTP, proxy.Previous.HTTPS
	}
	controlplanetest.Require(t, client.IgnoreNotFound(f.client.Delete(t.Context(), source.DeepCopy())))
	controlplanetest.Require(t, f.client.Create(t.Context(), source))
}

// follow keeps the relay's settings on the machine, as fairlead-node does, which has the folder as a hostPath.
func (f *fleet) follow(t *testing.T, m *machine.Machine) {
	t.Helper()
	follower, err := process.Start(t.Context(), process.Spec{
		Name: "follow", Path: controlplanetest.Program(t, "fairlead-operator"), LogFile: t.TempDir() + "/follow.log",
		Args: []string{
			"follow", "--kubeconfig=" + f.cp.AdminKubeconfig(), "--namespace=" + operator.Namespace, "--folder=" + m.Path("/etc/fairlead/relay"), "--as-settings",
			"--health-address=127.0.0.1:0",
		},
	})
	controlplanetest.Require(t, err)
	t.Cleanup(follower.Kill)
}

// wantNoneOutdated requires it of the report as it is after all that was changed.
func (f *fleet) wantNoneOutdated(t *testing.T) {
	t.Helper()
	report := &v1alpha1.ProxyReport{}
	controlplanetest.Await(t, "the count of machines", func(ctx context.Context) (bool, error) {
		err := f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "mycluster"}, report)
		counted := report.Status.Nodes
		return controlplanetest.Holds(err == nil && counted != nil && counted.Machines == 1, "it is not counted yet: %+v (%v)", counted, err)
	})
	if report.Status.Nodes.Outdated != 0 || report.Status.Nodes.Since != nil {
		t.Errorf("counted: %+v", report.Status.Nodes)
	}
}
