package render

import (
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/templates/systemd"
)

// relayFolder has the settings of a machine's relay, which reads them again for each request.
const relayFolder = "/etc/fairlead/relay/"

// relayURL is where a machine's relay listens: templates/systemd/fairlead-relay.socket.tmpl.
var relayURL, _ = proxyurl.Parse("http://127.0.0.1:3128") // a constant; a test reads it in a drop-in

// OnMachine returns the configuration as programs on a machine have it: with delivery Relay, its proxy is the machine's
// relay.
func OnMachine(e resolve.Effective) resolve.Effective {
	if e.Node.Delivery != resolve.DeliveryRelay {
		return e
	}
	for _, u := range []*proxyurl.URL{&e.HTTP, &e.HTTPS} {
		if !u.IsZero() {
			*u = relayURL
		}
	}
	e.Previous = resolve.Previous{}
	return e
}

// relayFile is a file of a machine with a relay.
type relayFile struct {
	key, name string // name: of the file in relayFolder, or of the unit
	unit      bool
	enabled   bool // systemd starts the unit with the machine
	template  *template.Template
}

var relayFiles = []relayFile{
	{RelayPolicyKey, "policy.yaml", false, false, systemd.RelayPolicy},
	{RelaySocketKey, "fairlead-relay.socket", true, true, systemd.RelaySocket},
	{RelayServiceKey, "fairlead-relay.service", true, false, systemd.RelayService},
	{RelayUpdatePathKey, "fairlead-relay-update.path", true, true, systemd.RelayUpdatePath},
	{RelayUpdateServiceKey, "fairlead-relay-update.service", true, false, systemd.RelayUpdateService},
	{RelayInstallServiceKey, "fairlead-relay-install.service", true, false, systemd.RelayInstallService},
}

// relayFilesOf are those that a machine of this configuration has beside the settings. They are the same without a proxy:
// systemd takes an empty unit for a masked one, and starting it is an error.
func relayFilesOf(e resolve.Effective) []relayFile {
	switch {
	case e.Node.Delivery != resolve.DeliveryRelay:
		return nil
	case e.Node.Relay.Image == "":
		return relayFiles[:len(relayFiles)-1]
	}
	return relayFiles
}

func (f relayFile) content(e resolve.Effective) ([]byte, error) {
	return execute(f.template, e.Node.Relay)
}

// RelaySettings returns what the relay of a machine reads: the proxy with its password, and the list for Go, whose rules
// are the relay's. Without a proxy the two variables that are always there are empty; nobody then asks the relay.
func RelaySettings(e resolve.Effective) ([]byte, error) {
	var lines strings.Builder
	for _, v := range []struct {
		name, value string
		always      bool
	}{
		{proxyenv.HTTP, e.HTTP.Reveal(), false},
		{proxyenv.HTTPS, e.HTTPS.Reveal(), true},
		{proxyenv.HTTPPrevious, e.Previous.HTTP.Reveal(), false},
		{proxyenv.HTTPSPrevious, e.Previous.HTTPS.Reveal(), false},
		{proxyenv.NoProxy, e.NoProxy.For(noproxy.AudienceGo).String(), true},
	} {
		if v.value == "" && !v.always {
			continue
		}
		if err := checkSetting(v.name, v.value); err != nil {
			return nil, problemAt(e, RelaySettingsKey, err)
		}
		lines.WriteString(v.name + "=" + v.value + "\n")
	}
	return []byte(lines.String()), nil
}

// checkSetting refuses what does not stand for itself after NAME=, in the relay and in systemd's EnvironmentFile=
// (environmentFileAssignment has its language): it is read without quotes.
func checkSetting(name, value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"\\`#", r) }) || strings.HasPrefix(value, "'") {
		return notCarriable("%s has a character that the relay's settings cannot carry: they are printable ASCII without blanks, quotes, backslashes and #", name)
	}
	return nil
}
