package tunnel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

// A proxy's URL in NO_PROXY, cut by the commas of its password: an entry that covers the hub may be a part of it.
func TestNoPartOfAPasswordIsNamedAsTheEntryThatCoversTheHub(t *testing.T) {
	list := "http://me:x," + password + ".example,y@proxy.example:3128"
	hub := strings.ToLower(password) + ".example"
	pod := readInput(t, "kind: Pod\nmetadata: {name: p, labels: {app: konnectivity-agent}}\nspec:\n  containers:\n  - name: konnectivity-agent\n"+
		"    args: [--proxy-server-host="+"a."+hub+", --proxy-server-port=443]\n"+
		"    env: [{name: HTTPS_PROXY, value: 'http://10.0.0.9:3128'}, {name: NO_PROXY, value: '"+list+"'}]\n")
	a, err := tunnel.Read[tunnel.AddOnDeployment](parse(t, "spec: {proxyConfig: {httpsProxy: 'http://10.0.0.9:3128', noProxy: '"+list+"'}}"))
	if err != nil {
		t.Fatal(err)
	}
	entrypoint := managedProxy(t, "proxyServer: {entrypoint: {type: Hostname, hostname: {value: a."+hub+"}, port: 443}}")
	said := fmt.Sprint(tunnel.Judge(pod), a.Judge("a", []tunnel.ManagedProxy{entrypoint}))
	if strings.Contains(said, password) || strings.Count(said, "(hidden: ") != 2 {
		t.Error(said)
	}
}
