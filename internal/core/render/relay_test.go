package render_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

const previousURL = "http://former:mySuperSecretPassword@192.168.52.220:3128"

// everyFile are all files of machines; with Set, static pods have the URL.
func everyFile(e *resolve.Effective) {
	e.Node.Units, e.Node.StaticPods, e.Node.Base64Twins = []string{"crio.service"}, resolve.StaticPodsSet, true
	e.Node.Files = []resolve.NodeFile{
		resolve.FileEnvironmentFile, resolve.FileEtcEnvironment, resolve.FileRKE2, resolve.FileK3s, resolve.FileStaticPods, resolve.FileFlatcar, resolve.FileFedoraCoreOS,
	}
}

func byRelay(e *resolve.Effective) {
	e.Node.Delivery, e.Node.Relay = resolve.DeliveryRelay, resolve.MachineRelay{Binary: "/opt/fairlead/bin/fairlead-relay"}
}

func withPrevious(tb testing.TB) func(*resolve.Effective) {
	tb.Helper()
	return func(e *resolve.Effective) {
		e.Previous = resolve.Previous{HTTP: url(tb, previousURL), HTTPS: url(tb, previousURL)}
	}
}

// The configs of whole machines hold the relay's settings on purpose.
var withSettings = []string{
	"relaySettings", "relaySettings.base64", "flatcarButane", "flatcarButane.base64", "flatcarIgnition", "flatcarIgnition.base64",
	"fcosButane", "fcosButane.base64", "fcosIgnition", "fcosIgnition.base64",
}

func TestWithARelayNothingButItsSettingsHasThePassword(t *testing.T) {
	_, literal := secrets(t, example(t, everyFile))
	_, relayed := secrets(t, example(t, everyFile, byRelay, withPrevious(t)))
	added := map[string]bool{}
	for key, content := range relayed.Data {
		if _, released := literal.Data[key]; !released {
			added[strings.TrimSuffix(key, ".base64")] = true
		}
		secret := slices.Contains(withSettings, key)
		if (shown(string(content)) != "") != secret && !strings.HasSuffix(key, "Ignition") && !strings.HasSuffix(key, ".base64") {
			t.Errorf("%s: has the password: %v\n%s", key, !secret, content)
		}
		if !secret && shown(string(content)) != "" {
			t.Errorf("%s has the password", key)
		}
	}
	want := []string{"relayPolicy", "relayService", "relaySettings", "relaySocket", "relayUpdatePath", "relayUpdateService"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(added))); diff != "" {
		t.Error(diff)
	}
	for key, times := range map[string]int{
		"containerdProxy": 4, "kubeletProxy": 4, "crioProxy": 4, "environmentFile": 4, "etcEnvironment": 4, "rke2Environment": 8, "k3sEnvironment": 8,
		"kubeAPIServerPatch": 4,
	} {
		if n := strings.Count(string(relayed.Data[key]), "http://127.0.0.1:3128"); n != times || !strings.Contains(string(relayed.Data[key]), exampleList) {
			t.Errorf("%s names the relay %d times:\n%s", key, n, relayed.Data[key])
		}
	}
}

// Machines read each of these texts at their boot.
func TestTheRelaysFilesAreWrittenAsTheyAreRead(t *testing.T) {
	_, relayed := secrets(t, example(t, byRelay, withPrevious(t), func(e *resolve.Effective) {
		e.Node.Relay.Image = "registry.example/fairlead-relay:1.0.0"
		e.NoProxy = noproxy.Lists{Any: list("any.example"), Go: list("go.example", "10.0.0.0/8")}
	}))
	const settings = "HTTP_PROXY=" + exampleURL + "\nHTTPS_PROXY=" + exampleURL + "\nHTTP_PROXY_PREVIOUS=" + previousURL +
		"\nHTTPS_PROXY_PREVIOUS=" + previousURL + "\nNO_PROXY=go.example,10.0.0.0/8\n"
	if diff := cmp.Diff(settings, string(relayed.Data["relaySettings"])); diff != "" {
		t.Error(diff)
	}
	policy, err := egress.ParsePolicy(relayed.Data["relayPolicy"])
	if err != nil || len(policy.Sources) != 2 || policy.Direct.Networks != nil || policy.Direct.Domains != nil || policy.Direct.Namespaces != nil {
		t.Errorf("%+v (%v)", policy, err)
	}
	for key, want := range map[string]string{
		"relaySocket":         "ListenStream=127.0.0.1:3128\n",
		"relayService":        "ExecStart=/opt/fairlead/bin/fairlead-relay --listen=systemd --proxy=/etc/fairlead/relay --policy=/etc/fairlead/relay/policy.yaml ",
		"relayUpdatePath":     "PathChanged=/opt/fairlead/bin/fairlead-relay\n",
		"relayUpdateService":  "try-restart fairlead-relay.service\n",
		"relayInstallService": "ConditionPathExists=!/opt/fairlead/bin/fairlead-relay\n",
	} {
		if !strings.Contains(string(relayed.Data[key]), want) {
			t.Errorf("%s lacks %s:\n%s", key, want, relayed.Data[key])
		}
	}
	if install := string(relayed.Data["relayInstallService"]); strings.Count(install, "registry.example/fairlead-relay:1.0.0") != 3 {
		t.Errorf("it fetches another image:\n%s", install)
	}
}

func TestARelayIsFetchedOnlyWhereThereIsAnImage(t *testing.T) {
	_, without := secrets(t, example(t, byRelay))
	_, with := secrets(t, example(t, byRelay, func(e *resolve.Effective) { e.Node.Relay.Image = "registry.example/relay:1" }))
	for name, test := range map[string]struct {
		data map[string][]byte
		want bool
	}{"with": {with.Data, true}, "without": {without.Data, false}} {
		_, fetched := test.data["relayInstallService"]
		if waits := strings.Contains(string(test.data["relayService"]), "fairlead-relay-install.service"); fetched != test.want || waits != test.want {
			t.Errorf("%s an image: fetched %v, awaited %v", name, fetched, waits)
		}
	}
}

// systemd takes an empty unit for a masked one; a machine of a cluster without a proxy boots all the same.
func TestWithoutAProxyTheRelayIsThereAndKnowsNone(t *testing.T) {
	e := blank(resolve.ModeDirect)
	byRelay(&e)
	everyFile(&e)
	_, direct := secrets(t, e)
	_, proxied := secrets(t, example(t, everyFile, byRelay))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(proxied.Data)), slices.Sorted(maps.Keys(direct.Data))); diff != "" {
		t.Error(diff)
	}
	if got := string(direct.Data["relaySettings"]); got != "HTTPS_PROXY=\nNO_PROXY=\n" {
		t.Errorf("the settings are %q", got)
	}
	for _, key := range []string{"relaySocket", "relayService", "relayUpdatePath", "relayUpdateService", "relayPolicy"} {
		if !bytes.Equal(direct.Data[key], proxied.Data[key]) {
			t.Errorf("%s is another one:\n%s", key, direct.Data[key])
		}
	}
	for _, key := range []string{"containerdProxy", "environmentFile"} {
		if strings.Contains(string(direct.Data[key]), "127.0.0.1") {
			t.Errorf("%s names a relay that knows no proxy:\n%s", key, direct.Data[key])
		}
	}
}

func TestOneProxyAloneIsOneRelayAlone(t *testing.T) {
	_, systemd := secrets(t, example(t, byRelay, func(e *resolve.Effective) { e.HTTP = url(t, "") }))
	if text := string(systemd.Data["containerdProxy"]); strings.Contains(text, "HTTP_PROXY=") || !strings.Contains(text, "HTTPS_PROXY=http://127.0.0.1:3128") {
		t.Error(text)
	}
	if text := string(systemd.Data["relaySettings"]); strings.Contains(text, "HTTP_PROXY=") {
		t.Error("the relay has both")
	}
}

func TestAConfigForAMachineHasItsRelay(t *testing.T) {
	for _, variant := range variants {
		m := butane(t, example(t, byRelay, withPrevious(t), func(e *resolve.Effective) { e.Node.TrustedCA = []byte("PEM") }), variant)
		settings, mode := m.file("/etc/fairlead/relay/settings")
		if !strings.Contains(settings, previousURL) || mode != 0o600 {
			t.Errorf("%s: the settings have %o:\n%s", variant, mode, settings)
		}
		if ca, _ := m.file("/etc/fairlead/relay/ca.crt"); ca != "PEM" {
			t.Errorf("%s: the authorities are %q", variant, ca)
		}
		if policy, _ := m.file("/etc/fairlead/relay/policy.yaml"); !strings.Contains(policy, "127.0.0.0/8") {
			t.Errorf("%s: the policy is %q", variant, policy)
		}
		if env, _ := m.file("/etc/fairlead/proxy.env"); shown(env) != "" || !strings.Contains(env, "http://127.0.0.1:3128") {
			t.Errorf("%s: %s", variant, env)
		}
		enabled := map[string]bool{}
		for _, unit := range m.Systemd.Units {
			if strings.HasPrefix(unit.Name, "fairlead-relay") {
				enabled[unit.Name] = unit.Enabled
			}
		}
		want := map[string]bool{"fairlead-relay.socket": true, "fairlead-relay.service": false, "fairlead-relay-update.path": true, "fairlead-relay-update.service": false}
		if diff := cmp.Diff(want, enabled); diff != "" {
			t.Error(variant, diff)
		}
		// Ignition fetches before there is a relay.
		if own, _ := m.Ignition["proxy"].(map[string]any); own["https_proxy"] != exampleURL {
			t.Errorf("%s: Ignition's own proxy is %v", variant, own)
		}
	}
	if _, err := render.Ignition(example(t, byRelay), ignition.Flatcar); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatNoLineCarriesAreRefusedWithoutBeingShown(t *testing.T) {
	for _, entry := range []string{"a b", `a"b`, `a\b`, "a\nb", "'a", "a#b", "ä"} {
		_, err := render.RelaySettings(example(t, byRelay, func(e *resolve.Effective) { e.NoProxy = lists(entry) }))
		if err == nil || strings.Contains(err.Error(), entry) || !strings.Contains(err.Error(), "relaySettings: NO_PROXY has a character") {
			t.Errorf("%q: %v", entry, err)
		}
	}
}
