// Package systemd holds the files that Fairlead writes for systemd, as
// templates. Package render fills them; values reach them already escaped.
package systemd

import (
	"embed"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// HTTPProxy is the drop-in http-proxy.conf of one unit. Its data is a list of
// quoted assignments.
var HTTPProxy = template.Must(template.ParseFS(files, "http-proxy.conf.tmpl"))
