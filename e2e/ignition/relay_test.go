package ignition_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestIgnitionTakesAMachineWithARelayAndWritesItsFiles(t *testing.T) {
	program := validator(t)
	for _, variant := range []ignition.Variant{ignition.Flatcar, ignition.FedoraCoreOS} {
		e := newInternet(t).configuration(t)
		e.Node.Delivery = resolve.DeliveryRelay
		e.Node.Relay = resolve.MachineRelay{Image: "registry.example/fairlead-relay:1", Binary: "/opt/fairlead/bin/fairlead-relay"}
		config, err := render.Ignition(e, variant)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := validate(t, program, config); err != nil || !insecure.MatchString(said) {
			t.Errorf("%s: %v\n%s", variant, err, said)
		}
		root := t.TempDir()
		if said, err := apply(t, root, decode(t, config)); err != nil {
			t.Fatalf("%s: %v\n%.3000s", variant, err, said)
		}
		settings, mode := read(t, root, "/etc/fairlead/relay/settings")
		if want, _ := render.RelaySettings(e); settings != string(want) || mode != 0o600 {
			t.Errorf("%s: the settings have %o:\n%s", variant, mode, settings)
		}
		for _, unit := range []string{"relay.socket", "relay.service", "relay-install.service", "relay-update.path", "relay-update.service"} {
			if content, _ := read(t, root, "/etc/systemd/system/fairlead-"+unit); !strings.HasPrefix(content, "[Unit]\n") {
				t.Errorf("%s: fairlead-%s is %q", variant, unit, content)
			}
		}
		if env, _ := read(t, root, "/etc/fairlead/proxy.env"); !strings.Contains(env, `HTTPS_PROXY="http://127.0.0.1:3128"`) {
			t.Errorf("%s: %s", variant, env)
		}
	}
}
