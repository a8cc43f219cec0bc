// Package systemd holds the files that Fairlead writes for systemd and for
// logins, as templates. Package render fills them; values reach them already
// escaped.
package systemd

import (
	"embed"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// Their data is a list of assignments, written for the place; the drop-in of
// EnvironmentFile= needs none.
var (
	HTTPProxy             = parse("http-proxy.conf.tmpl")       // drop-in of one unit
	EnvironmentFile       = parse("proxy.env.tmpl")             // what units read with EnvironmentFile=
	EnvironmentFileDropIn = parse("environment-file.conf.tmpl") // with which they do
	EtcEnvironment        = parse("etc-environment.tmpl")       // appended to /etc/environment
)

// The relay's. Their data is where its program is, and the image that has it.
var (
	RelayPolicy         = parse("relay-policy.yaml.tmpl")
	RelaySocket         = parse("fairlead-relay.socket.tmpl")
	RelayService        = parse("fairlead-relay.service.tmpl")
	RelayUpdatePath     = parse("fairlead-relay-update.path.tmpl")
	RelayUpdateService  = parse("fairlead-relay-update.service.tmpl")
	RelayInstallService = parse("fairlead-relay-install.service.tmpl")
)

func parse(name string) *template.Template { return template.Must(template.ParseFS(files, name)) }
