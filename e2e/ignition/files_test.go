package ignition_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// insecure matches the only message of Ignition. Most companies have a proxy for
// https that is spoken to in http.
var insecure = regexp.MustCompile(`^warning at \$\.ignition\.proxy\.httpsProxy, line \d+ col \d+: insecure plaintext HTTP proxy specified for HTTPS resources$`)

func TestTheNewestIgnitionTakesEveryConfigWithoutAComplaint(t *testing.T) {
	program := controlplanetest.Tool(t, tools.IgnitionValidate)
	for _, s := range allSamples(t) {
		config := rendered(t, s, s.Effective, s.variant)
		if said, err := validate(t, program, config); err != nil || !insecure.MatchString(said) {
			t.Errorf("%s: %v\n%s", s, err, said)
		}
		want := &proxy{s.Effective.HTTP.Reveal(), s.Effective.HTTPS.Reveal(), s.Effective.NoProxy.Go.Texts()}
		got := decode(t, config)
		if diff := cmp.Diff(want, got.Ignition.Proxy); diff != "" || got.Ignition.Version != "3.3.0" {
			t.Errorf("%s: %s", s, diff)
		}
	}
}

// All samples go through one run of Ignition, so each has its own folder and units
// of its own name; the configs are not changed otherwise.
func TestIgnitionWritesEveryFileAsItWasMeant(t *testing.T) {
	all := allSamples(t)
	var together ignitionConfig
	together.Ignition.Version = "3.3.0"
	for _, s := range all {
		config := decode(t, rendered(t, s, s.Effective, s.variant))
		for _, file := range config.Storage.Files {
			file["path"] = fmt.Sprintf("/%d%s", s.Number, file["path"])
		}
		for _, unit := range config.Systemd.Units {
			unit["name"] = fmt.Sprintf("%d-%s", s.Number, unit["name"])
		}
		together.Storage.Files = append(together.Storage.Files, config.Storage.Files...)
		together.Systemd.Units = append(together.Systemd.Units, config.Systemd.Units...)
	}
	root := t.TempDir()
	if said, err := apply(t, root, together); err != nil {
		t.Fatalf("%v\n%.3000s", err, said)
	}
	for _, s := range all {
		checkFiles(t, root, s)
	}
}

func checkFiles(t *testing.T, root string, s sample) {
	t.Helper()
	environment := func(audience noproxy.Audience) string {
		e := s.Effective
		e.NoProxy.Go = e.NoProxy.For(audience)
		content, err := render.EnvironmentFile(e)
		controlplanetest.Require(t, err)
		return string(content)
	}
	certificates := "/etc/ssl/certs/fairlead-1.pem"
	if s.variant == ignition.FedoraCoreOS {
		certificates = "/etc/pki/ca-trust/source/anchors/fairlead.pem"
	}
	dropIn := func(unit string) string {
		return fmt.Sprintf("/etc/systemd/system/%d-%s.service.d/http-proxy.conf", s.Number, unit)
	}
	own := func(path string) string { return fmt.Sprintf("/%d%s", s.Number, path) }
	for path, want := range map[string]string{
		own("/etc/fairlead/proxy.env"):     environment(noproxy.AudienceGo),
		own("/etc/fairlead/proxy-any.env"): environment(noproxy.AudienceAny),
		own(certificates):                  string(s.Effective.Node.TrustedCA),
		dropIn("containerd"):               "[Service]\nEnvironmentFile=/etc/fairlead/proxy.env\n",
		dropIn("kubelet"):                  "[Service]\nEnvironmentFile=/etc/fairlead/proxy.env\n",
		dropIn("crio"):                     "[Service]\nEnvironmentFile=/etc/fairlead/proxy-any.env\n",
	} {
		got, mode := read(t, root, path)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s:\n%s", s, path, diff)
		}
		if strings.HasSuffix(path, ".env") && mode != 0o600 {
			t.Errorf("%s: %s has %#o", s, path, mode)
		}
	}
}

func TestIgnitionTakesEveryKindOfMachine(t *testing.T) {
	program := controlplanetest.Tool(t, tools.IgnitionValidate)
	relayed := newInternet(t).configuration(t)
	relayed.Node.Delivery = resolve.DeliveryRelay
	relayed.Node.Relay = resolve.MachineRelay{Image: "registry.example/fairlead-relay:1", Binary: "/opt/fairlead/bin/fairlead-relay"}
	for name, row := range map[string]struct {
		machine resolve.Effective
		says    *regexp.Regexp
		check   func(t *testing.T, root string, e resolve.Effective)
	}{
		"with a relay":    {relayed, insecure, checkRelay},
		"without a proxy": {resolve.Effective{Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeDirect}, regexp.MustCompile("^$"), checkEmpty},
	} {
		for _, variant := range []ignition.Variant{ignition.Flatcar, ignition.FedoraCoreOS} {
			t.Run(fmt.Sprintf("%s, %s", name, variant), func(t *testing.T) {
				config := rendered(t, name, row.machine, variant)
				if said, err := validate(t, program, config); err != nil || !row.says.MatchString(said) {
					t.Errorf("%v\n%s", err, said)
				}
				root := t.TempDir()
				if said, err := apply(t, root, decode(t, config)); err != nil {
					t.Fatalf("%v\n%.3000s", err, said)
				}
				row.check(t, root, row.machine)
			})
		}
	}
}

func checkRelay(t *testing.T, root string, e resolve.Effective) {
	t.Helper()
	settings, mode := read(t, root, "/etc/fairlead/relay/settings")
	if want, _ := render.RelaySettings(e); settings != string(want) || mode != 0o600 {
		t.Errorf("the settings have %o:\n%s", mode, settings)
	}
	for _, unit := range []string{"relay.socket", "relay.service", "relay-install.service", "relay-update.path", "relay-update.service"} {
		if content, _ := read(t, root, "/etc/systemd/system/fairlead-"+unit); !strings.HasPrefix(content, "[Unit]\n") {
			t.Errorf("fairlead-%s is %q", unit, content)
		}
	}
	if env, _ := read(t, root, "/etc/fairlead/proxy.env"); !strings.Contains(env, `HTTPS_PROXY="http://127.0.0.1:3128"`) {
		t.Errorf("proxy.env is %s", env)
	}
}

func checkEmpty(t *testing.T, root string, _ resolve.Effective) {
	t.Helper()
	if content, mode := read(t, root, "/etc/fairlead/proxy.env"); content != "" || mode != 0o600 {
		t.Errorf("proxy.env is %q, %#o", content, mode)
	}
}

func TestTheJudgesRefuseWhatIsWrong(t *testing.T) {
	wrong := []byte(`{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"etc/x"}]}}`)
	if said, err := validate(t, controlplanetest.Tool(t, tools.IgnitionValidate), wrong); err == nil {
		t.Errorf("ignition-validate takes a relative path: %s", said)
	}
	if said, err := apply(t, t.TempDir(), decode(t, wrong)); err == nil {
		t.Errorf("Ignition takes a relative path: %s", said)
	}
}
