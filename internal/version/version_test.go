package version

import (
	"regexp"
	"runtime/debug"
	"testing"
)

func build(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
	return &debug.BuildInfo{Main: debug.Module{Path: "github.com/fairlead-io/fairlead", Version: module}, Settings: settings}
}

func TestTheVersionSaysWhatABuildIsMadeOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "1a2b3c4d5e6f708192a3b4c5d6e7f80912345678"}
	clean, modified := debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, row := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"go install …@version":               {build("v0.3.1"), "v0.3.1"},
		"go install …@main":                  {build("v0.3.2-0.20261121190000-1a2b3c4d5e6f"), "v0.3.2-0.20261121190000-1a2b3c4d5e6f"},
		"a checkout of the tag":              {build("v"+Number, revision, clean), "v" + Number},
		"a checkout of another commit":       {build("v0.0.0-20261121190000-1a2b3c4d5e6f", revision, clean), "v" + Number + "+1a2b3c4d5e6f"},
		"a checkout that somebody works in":  {build("v"+Number+"+dirty", revision, modified), "v" + Number + "+1a2b3c4d5e6f.modified"},
		"no repository, or -buildvcs=false":  {build("(devel)"), "v" + Number + "+devel"},
		"a module that has ours as a part":   {&debug.BuildInfo{Main: debug.Module{Path: "example.com/else", Version: "v9.9.9"}}, "v" + Number + "+devel"},
		"a revision that is shorter than it": {build("(devel)", debug.BuildSetting{Key: "vcs.revision", Value: "1a2b"}), "v" + Number + "+1a2b"},
	} {
		if got := version(row.info, true); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
	if got := version(nil, false); got != "v"+Number+"+devel" {
		t.Errorf("without any information: %q", got)
	}
}

func TestTheNumberIsAVersionThatHelmAndRegistriesTake(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9a-z.]+)?$`).MatchString(Number) {
		t.Errorf("VERSION is %q", Number)
	}
}
