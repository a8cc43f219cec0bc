// Package version says which Fairlead this is. The file VERSION is the only place where the number is written by hand:
// the charts and the tags of images are checked against it.
package version

import (
	_ "embed"
	"runtime/debug"
	"strings"
)

// Number is the version of charts and images: 0.1.0.
var Number = strings.TrimSpace(number)

//go:embed VERSION
var number string

// Version is the version that programs show with --version and send to servers.
var Version = version(debug.ReadBuildInfo())

// version returns the version of the module, where the go command has taken it from a proxy (go install …@v0.1.0) or the commit
// has that tag. Any other build is on its way to Number or from there: what it was made of follows as build metadata,
// which has no precedence (semver.org, 10): v0.1.0+1a2b3c4d5e6f, v0.1.0+1a2b3c4d5e6f.modified, or v0.1.0+devel without
// a repository.
func version(info *debug.BuildInfo, infoOK bool) string {
	devel := "v" + Number + "+devel"
	if !infoOK || info.Main.Path != "github.com/fairlead-io/fairlead" { // a test, or a program of somebody else
		return devel
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	revision, ok := settings["vcs.revision"]
	switch {
	case info.Main.Version == "v"+Number, !ok && strings.HasPrefix(info.Main.Version, "v"):
		return info.Main.Version
	case !ok:
		return devel
	}
	version := "v" + Number + "+" + revision[:min(len(revision), 12)]
	if settings["vcs.modified"] == "true" {
		version += ".modified"
	}
	return version
}
