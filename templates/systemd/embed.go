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

func parse(name string) *template.Template { return template.Must(template.ParseFS(files, name)) }
