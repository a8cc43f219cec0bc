package machine_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Each of these characters has a meaning to a URL, to systemd or to a shell.
const (
	user     = `nodes@corp.example`
	password = `p%40ss "w\ö/rd#$:n`
)

func TestAMachinePullsThroughTheProxyAsItsDropInSays(t *testing.T) {
	n := network(t)
	authority, err := machine.NewAuthority("Fairlead test")
	controlplanetest.Require(t, err)
	relay := relayImage(t)
	addresses := map[machine.Namespace][]string{
		machine.Internet: {machine.InternetAddress},
		machine.Cluster:  {machine.ServiceAddress, machine.EndpointAddress},
	}
	for where, addresses := range addresses {
		for _, address := range addresses {
			registry, err := n.StartRegistry(t.Context(), where, address, authority, machine.InternetName)
			controlplanetest.Require(t, err)
			controlplanetest.Require(t, registry.Push(t.Context(), "hello:1"))
			controlplanetest.Require(t, registry.PushIndex(t.Context(), "fairlead-io/fairlead-relay:1", relay))
		}
	}
	if conn, err := n.Dial(t.Context(), machine.Corp, machine.InternetAddress+":443"); err == nil {
		conn.Close() //nolint:errcheck // the test fails
		t.Fatal("corp reaches the internet without the proxy")
	}
	squid, err := n.StartSquid(t.Context(), machine.SquidOptions{User: user, Password: password})
	controlplanetest.Require(t, err)

	t.Run("without the drop-in", func(t *testing.T) {
		m := bootToTheEnd(t, n, userData(t, authority, nil))
		if err := m.Pull(t.Context(), machine.InternetName+"/hello:1"); err == nil || !strings.Contains(err.Error(), "network is unreachable") {
			t.Errorf("pulling from the internet: %v", err)
		}
		// That is for want of a proxy only.
		controlplanetest.Require(t, m.Pull(t.Context(), machine.ServiceAddress+"/hello:1"))
		controlplanetest.Require(t, m.PowerOff(t.Context()))
		requests, err := squid.Requests()
		if err != nil || len(requests) != 0 {
			t.Errorf("squid was asked: %+v (%v)", requests, err)
		}
	})

	t.Run("with the drop-in", func(t *testing.T) {
		m := bootToTheEnd(t, n, userData(t, authority, dropIn(t)))
		for _, host := range []string{machine.ServiceAddress, machine.EndpointAddress, machine.InternetName} {
			controlplanetest.Require(t, m.Pull(t.Context(), host+"/hello:1"))
		}
		controlplanetest.Require(t, m.Pull(t.Context(), machine.InternetName+"/fairlead-io/fairlead-relay:1"))
		controlplanetest.Require(t, squid.SetPassword(t.Context(), "another"))
		if err := m.Pull(t.Context(), machine.InternetName+"/hello:1"); err == nil || !strings.Contains(err.Error(), ": Proxy Authentication Required") {
			t.Errorf("with the password of before: %v", err)
		}
		controlplanetest.Require(t, m.PowerOff(t.Context())) // ends the tunnels
		var requests []machine.Request
		want := machine.Request{User: user, Method: "CONNECT", Target: machine.InternetName + ":443", Status: 200}
		controlplanetest.Await(t, "the user's tunnel in squid's log", func(context.Context) (bool, error) {
			requests, err = squid.Requests()
			return slices.Contains(requests, want), err
		})
		for _, r := range requests {
			if r.Target != want.Target {
				t.Errorf("squid was asked for what is to be reached directly: %+v", r)
			}
		}
	})
}

// relayImage is as it is released.
func relayImage(t *testing.T) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	_, err := images.Build(t.Context(), images.Options{
		Repository: repository.Path(), Output: dir, Name: "fairlead-relay", Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}},
	})
	controlplanetest.Require(t, err)
	return registry.Archive(t, filepath.Join(dir, "fairlead-relay.tar"))
}

// dropIn is Fairlead's.
func dropIn(t *testing.T) []byte {
	t.Helper()
	proxy, err := proxyurl.Parse("http://" + net.JoinHostPort(machine.ProxyAddress, fmt.Sprint(machine.ProxyPort)))
	controlplanetest.Require(t, err)
	proxy, err = proxy.WithCredentials(user, password)
	controlplanetest.Require(t, err)
	effective, err := resolve.Resolve(resolve.Input{
		Installation: resolve.Installation{Name: "default", Object: "CorporateProxy default", HTTP: proxy, HTTPS: proxy},
		Cluster: resolve.Cluster{
			Namespace: "org-acme", Name: "mycluster",
			ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"},
			EndpointHost: machine.EndpointAddress, ControlPlaneKind: "KubeadmControlPlane",
		},
	})
	controlplanetest.Require(t, err)
	secrets, err := render.Secrets(effective)
	controlplanetest.Require(t, err)
	for _, secret := range secrets {
		if content, found := secret.Data[render.ContainerdKey]; found {
			return content
		}
	}
	t.Fatal("no Secret has the drop-in")
	return nil
}

// userData is what a person would write. Without a drop-in it lacks that alone.
func userData(t *testing.T, authority *machine.Authority, dropIn []byte) string {
	t.Helper()
	config := map[string]any{
		"ca_certs": map[string]any{"trusted": []string{string(authority.PEM())}},
		"runcmd":   []string{"systemctl daemon-reload", "systemctl restart containerd"},
	}
	if dropIn != nil {
		config["write_files"] = []map[string]string{{
			"path":        "/etc/systemd/system/containerd.service.d/http-proxy.conf",
			"permissions": "0600",
			"content":     string(dropIn),
		}}
	}
	content, err := yaml.Marshal(config)
	controlplanetest.Require(t, err)
	return "#cloud-config\n" + string(content)
}

// bootToTheEnd returns when cloud-init has done all of it.
func bootToTheEnd(t *testing.T, n *machine.Network, userData string) *machine.Machine {
	t.Helper()
	m, err := n.Boot(t.Context(), machine.Options{UserData: []byte(userData), Progress: os.Stderr})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = m.Kill() }) // if the test has failed: the next one has a machine of its own
	result, err := m.AwaitCloudInit(t.Context())
	controlplanetest.Require(t, err)
	if len(result.Errors) > 0 {
		t.Fatalf("cloud-init: %q", result.Errors)
	}
	return m
}
