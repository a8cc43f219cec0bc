package units_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/units"
)

// folder has files with their content.
func folder(files map[string]string) fs.FS {
	of := fstest.MapFS{}
	for name, text := range files {
		of[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return of
}

// got returns what a service gets, each variable with where it comes from.
func got(t *testing.T, files map[string]string, name string) (map[string]string, units.Service) {
	t.Helper()
	services := units.Read(folder(files))
	at := slices.IndexFunc(services, func(s units.Service) bool { return s.Name == name })
	if at < 0 {
		t.Fatalf("no %s among %d services", name, len(services))
	}
	all := map[string]string{}
	for _, v := range services[at].Variables {
		if s, ok := v.Wins(); ok {
			all[v.Name] = s.Value + " " + s.Source.Key()
		}
	}
	return all, services[at]
}

const unit = "[Service]\n"

func TestTheStrongerSourceWinsAndAmongEqualsTheLaterOne(t *testing.T) {
	const own, of = "containerd.service", "containerd.service.d/"
	for name, test := range map[string]struct {
		files map[string]string
		want  string // of NO_PROXY; empty: the service does not get it
	}{
		"a later drop-in":                   {map[string]string{of + "10.conf": unit + "Environment=NO_PROXY=a\n", of + "20.conf": unit + "Environment=NO_PROXY=b\n"}, "b Environment="},
		"a drop-in before the unit":         {map[string]string{own: unit + "Environment=NO_PROXY=a\n", of + "10.conf": unit + "Environment=NO_PROXY=b\n"}, "b Environment="},
		"a file of an earlier drop-in":      {map[string]string{of + "10.conf": unit + "EnvironmentFile=-/etc/e\n", of + "20.conf": unit + "Environment=NO_PROXY=b\n", "etc/e": "NO_PROXY=a\n"}, "a EnvironmentFile="},
		"a file of the unit":                {map[string]string{own: unit + "EnvironmentFile=/etc/e\n", of + "20.conf": unit + "Environment=NO_PROXY=b\n", "etc/e": "NO_PROXY=a\n"}, "a EnvironmentFile="},
		"an empty value of a file":          {map[string]string{own: unit + "EnvironmentFile=/etc/e\nEnvironment=NO_PROXY=b\n", "etc/e": "NO_PROXY=\n"}, " EnvironmentFile="},
		"the later of two files":            {map[string]string{own: unit + "EnvironmentFile=/etc/e\nEnvironmentFile=/etc/f\n", "etc/e": "NO_PROXY=a\n", "etc/f": "NO_PROXY=b\n"}, "b EnvironmentFile="},
		"the files of a pattern by name":    {map[string]string{own: unit + "EnvironmentFile=/etc/*.env\n", "etc/b.env": "NO_PROXY=b\n", "etc/a.env": "NO_PROXY=a\n"}, "b EnvironmentFile="},
		"files are forgotten":               {map[string]string{own: unit + "EnvironmentFile=/etc/e\n", of + "20.conf": unit + "EnvironmentFile=\nEnvironment=NO_PROXY=b\n", "etc/e": "NO_PROXY=a\n"}, "b Environment="},
		"assignments are forgotten":         {map[string]string{own: unit + "Environment=NO_PROXY=a\n", of + "20.conf": unit + "Environment=\n"}, ""},
		"a variable is taken away":          {map[string]string{own: unit + "UnsetEnvironment=NO_PROXY\nEnvironmentFile=/etc/e\n", "etc/e": "NO_PROXY=a\n"}, ""},
		"a value is taken away":             {map[string]string{own: unit + "UnsetEnvironment=NO_PROXY=a\nEnvironment=NO_PROXY=a\n"}, ""},
		"another value is taken away":       {map[string]string{own: unit + "UnsetEnvironment=NO_PROXY=b\nEnvironment=NO_PROXY=a\n"}, "a Environment="},
		"a drop-in of all services":         {map[string]string{own: unit, "service.d/10.conf": unit + "Environment=NO_PROXY=a\n"}, "a Environment="},
		"one of all services, later":        {map[string]string{of + "10.conf": unit + "Environment=NO_PROXY=b\n", "service.d/20.conf": unit + "Environment=NO_PROXY=a\n"}, "a Environment="},
		"its own of the same name":          {map[string]string{of + "10.conf": unit + "Environment=NO_PROXY=b\n", "service.d/10.conf": unit + "Environment=NO_PROXY=a\n"}, "b Environment="},
		"the file that has the unit's name": {map[string]string{own: unit + "EnvironmentFile=-/etc/default/%N\n", "etc/default/containerd": "NO_PROXY=a\n"}, "a EnvironmentFile="},
		"a line of another section":         {map[string]string{own: "[Unit]\nEnvironment=NO_PROXY=a\n"}, ""},
		"the word before an open quote":     {map[string]string{own: unit + "Environment=NO_PROXY=a \"x=b\n"}, "a Environment="},
		"an exported line of a file":        {map[string]string{own: unit + "EnvironmentFile=/etc/e\n", "etc/e": "export NO_PROXY=a\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{}
			if test.want != "" {
				want["NO_PROXY"] = test.want
			}
			all, _ := got(t, test.files, own)
			if diff := cmp.Diff(want, all); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A whole machine has a manager, and several folders of units.
func TestTheManagersDefaultsAreTheWeakestAndEtcHidesUsr(t *testing.T) {
	const etc, usr = "etc/systemd/system/", "usr/lib/systemd/system/"
	files := map[string]string{
		"etc/systemd/system.conf":                "[Manager]\nDefaultEnvironment=NO_PROXY=main HTTP_PROXY=main\n",
		"etc/systemd/system.conf.d/10-more.conf": "[Manager]\nDefaultEnvironment=NO_PROXY=more\nManagerEnvironment=HTTPS_PROXY=manager ALL_PROXY=manager\n",
		usr + "kubelet.service":                  unit,
		usr + "kubelet.service.d/10.conf":        unit + "Environment=no_proxy=usr\n",
		etc + "kubelet.service.d/10.conf":        unit + "PassEnvironment=HTTPS_PROXY https_proxy\n",
		usr + "other.service":                    unit,
		etc + "rke2-server.service":              unit + "EnvironmentFile=/etc/none\nEnvironmentFile=-/etc/none\n",
	}
	all, kubelet := got(t, files, "kubelet.service")
	want := map[string]string{"NO_PROXY": "more DefaultEnvironment=", "HTTP_PROXY": "main DefaultEnvironment=", "HTTPS_PROXY": "manager PassEnvironment="}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(kubelet.Problems) != 1 || kubelet.Problems[0].Kind != units.Unknown || !strings.Contains(kubelet.Problems[0].Reason, "https_proxy") {
		t.Errorf("%+v", kubelet.Problems)
	}
	_, server := got(t, files, "rke2-server.service")
	if len(server.Problems) != 1 || server.Problems[0].Kind != units.Fails {
		t.Errorf("%+v", server.Problems)
	}
	if services := units.Read(folder(files)); len(services) != 2 {
		t.Errorf("%d services: one that has the defaults alone is left out", len(services))
	}
}

// In a folder of units alone, a file that is not there may be on the machine.
func TestAFileThatIsNotInTheFolderIsUnknown(t *testing.T) {
	_, s := got(t, map[string]string{"kubelet.service.d/10.conf": unit + "EnvironmentFile=-/etc/default/kubelet\nEnvironment=NO_PROXY=a\n"}, "kubelet.service")
	want := []units.Problem{{
		Kind: units.Unknown, Place: units.Place{Path: "kubelet.service.d/10.conf", Line: 2},
		Reason: "/etc/default/kubelet is not below the folder: what it sets, if the machine has it, wins over every Environment=",
	}}
	if diff := cmp.Diff(want, s.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATemplateAndNamesThatBeginSoHaveDropInsForTheirServices(t *testing.T) {
	all, _ := got(t, map[string]string{
		"my-node@.service":             unit + "Environment=NO_PROXY=template\n",
		"my-node@a.service.d/10.conf":  unit + "Environment=HTTP_PROXY=instance\n",
		"my-node@.service.d/10.conf":   unit + "Environment=HTTP_PROXY=hidden\n",
		"my-node@.service.d/20.conf":   unit + "Environment=https_proxy=template\n",
		"my-.service.d/30.conf":        unit + "Environment=http_proxy=begins\n",
		"my-node@a.service.d/30.conf~": unit + "Environment=http_proxy=none\n",
	}, "my-node@a.service")
	want := map[string]string{
		"NO_PROXY": "template Environment=", "HTTP_PROXY": "instance Environment=", "https_proxy": "template Environment=", "http_proxy": "begins Environment=",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
