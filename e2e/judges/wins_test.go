package judges_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/internal/core/units"
)

const winsServices = 100

// Services with sources of all kinds, in an order that nobody would choose, get what internal/core/units says.
func TestWhatWinsIsWhatSystemdGives(t *testing.T) {
	files := winsFiles(rand.New(rand.NewPCG(7, 35)))
	addOdd(files)
	said := map[string]units.Service{}
	for _, s := range units.Read(files) {
		said[s.Name] = s
	}
	m := boot(t, []file{{Path: "/etc/judge/first", Permissions: "0600", Content: "-"}})
	writeAll(t, m, files)
	run(t, m, "mkdir -p /run/judge && systemctl daemon-reload && xargs -n 100 systemctl start < /run/names")
	sources := map[units.Source]int{}
	for _, at := range slices.Sorted(maps.Keys(files)) {
		name, is := strings.CutSuffix(strings.TrimPrefix(at, "etc/systemd/system/"), ".service")
		if !is || strings.Contains(name, "/") || name+".service" == oddAlias {
			continue
		}
		want := map[string]string{"ALL_PROXY": "default"}
		for _, v := range said[name+".service"].Variables {
			delete(want, v.Name)
			if s, gets := v.Wins(); gets {
				want[v.Name] = s.Value
				sources[s.Source]++
			}
		}
		environment, err := m.ReadFile("/run/judge/" + name)
		controlplanetest.Require(t, err)
		if diff := cmp.Diff(want, proxyVariables(environment)); diff != "" {
			t.Errorf("%s (-units +systemd):\n%s\n%s", name, diff, about(files, name))
		}
	}
	if sources[units.Unit] < winsServices/2 || sources[units.File] < winsServices {
		t.Errorf("the services hardly differ: %v", sources)
	}
}

// winsFiles are a machine's files: services, drop-ins of several folders, files of variables and the manager's defaults.
func winsFiles(random *rand.Rand) fstest.MapFS {
	files := fstest.MapFS{}
	write := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	write("etc/systemd/system.conf.d/50-judge.conf", "[Manager]\nDefaultEnvironment=ALL_PROXY=default\n")
	write("etc/systemd/system/service.d/50-all.conf", "[Service]\nEnvironment=FTP_PROXY=all\n")
	for n := range 8 {
		write(fmt.Sprintf("etc/judge/%d.env", n), fmt.Sprintf("# %d\nNO_PROXY=first%d\n%s=file%d\n", n, n, oneOf(random, winsNames), n))
	}
	for i := range winsServices {
		name := fmt.Sprintf("wins-%d.service", i)
		write("etc/systemd/system/"+name, service+winsLines(random))
		for range random.IntN(4) {
			folder := oneOf(random, []string{"etc/systemd/system/", "run/systemd/system/", "usr/lib/systemd/system/"}) + oneOf(random, []string{name, name, "wins-.service"})
			write(fmt.Sprintf("%s.d/%d0.conf", folder, 1+random.IntN(8)), "[Service]\n"+winsLines(random))
		}
	}
	return files
}

var winsNames = []string{"NO_PROXY", "no_proxy", "HTTP_PROXY", "ALL_PROXY", "FTP_PROXY"}

// winsLines are up to four settings.
func winsLines(random *rand.Rand) string {
	var text strings.Builder
	for range random.IntN(5) {
		name, value := oneOf(random, winsNames), fmt.Sprintf("v%d", random.IntN(3))
		text.WriteString(oneOf(random, []string{
			"Environment=" + name + "=" + value, "Environment=" + name + "=" + value, `Environment="` + name + "=" + value + `" no_proxy=` + value,
			"Environment=", fmt.Sprintf("EnvironmentFile=/etc/judge/%d.env", random.IntN(8)), fmt.Sprintf("EnvironmentFile=-/etc/judge/%d.env", random.IntN(12)),
			"EnvironmentFile=", "EnvironmentFile=/etc/judge/[45].env", "UnsetEnvironment=" + name, "UnsetEnvironment=" + name + "=" + value, "UnsetEnvironment=",
		}) + "\n")
	}
	return text.String()
}

func oneOf(random *rand.Rand, texts []string) string { return texts[random.IntN(len(texts))] }

func writeAll(t *testing.T, m *machine.Machine, files fstest.MapFS) {
	t.Helper()
	var names, links strings.Builder
	folders := map[string]bool{}
	for name := range files {
		folders["/"+path.Dir(name)] = true
	}
	run(t, m, "mkdir -p "+strings.Join(slices.Sorted(maps.Keys(folders)), " "))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name].Mode.Type() == fs.ModeSymlink {
			links.WriteString("ln -s " + string(files[name].Data) + " /" + name + "\n")
		} else {
			controlplanetest.Require(t, m.WriteFile("/"+name, files[name].Data, 0o644))
		}
		if base := path.Base(name); strings.HasSuffix(base, ".service") && path.Dir(name) == "etc/systemd/system" && base != oddAlias { // started by its main name
			names.WriteString(base + "\n")
		}
	}
	run(t, m, links.String())
	controlplanetest.Require(t, m.WriteFile("/run/names", []byte(names.String()), 0o644))
}

// about returns the files of a service.
func about(files fstest.MapFS, name string) string {
	var text strings.Builder
	for _, at := range slices.Sorted(maps.Keys(files)) {
		if strings.Contains(at, name+".service") || strings.HasPrefix(name, "wins-") && strings.Contains(at, "wins-.service") {
			fmt.Fprintf(&text, "== %s\n%s", at, files[at].Data)
		}
	}
	return text.String()
}
