package units_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/units"
)

const (
	etcUnits = "etc/systemd/system/"
	usrUnits = "usr/lib/systemd/system/"
)

// onDisk writes files; a text that begins with "->" is a link's target.
func onDisk(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if target, ok := strings.CutPrefix(text, "->"); ok {
			must(t, os.Symlink(target, at))
		} else {
			must(t, os.WriteFile(at, []byte(text), 0o600))
		}
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// only is the one service of a folder, with what each of its variables is.
func onlyService(t *testing.T, files fs.FS) (units.Service, map[string]string) {
	t.Helper()
	services := units.Read(files)
	if len(services) != 1 {
		t.Fatalf("%d services", len(services))
	}
	all := map[string]string{}
	for _, v := range services[0].Variables {
		s, _ := v.Wins()
		all[v.Name] = s.Value
	}
	return services[0], all
}

func reasons(s units.Service) string {
	var all []string
	for _, p := range s.Problems {
		all = append(all, fmt.Sprintf("%d %s:%d %s", p.Kind, p.Place.Path, p.Place.Line, p.Reason))
	}
	return strings.Join(all, "\n")
}

func TestLinksOfAnotherMachineStayOnIt(t *testing.T) {
	host := filepath.Join(t.TempDir(), "host")
	must(t, os.WriteFile(host, []byte("NO_PROXY=host\n[Service]\nEnvironment=NO_PROXY=host\n"), 0o600))
	outside := strings.Repeat("../", 40) + strings.TrimPrefix(host, "/")
	root := onDisk(t, map[string]string{
		usrUnits + "kubelet.service":           unit + "EnvironmentFile=/etc/linked\nEnvironmentFile=-/etc/host\nEnvironmentFile=-/etc/above\n",
		"lib":                                  "->usr/lib",
		etcUnits + "kubelet.service.d":         "->/run/dropins",
		"run/dropins/10.conf":                  "->../../srv/10.conf",
		"srv/10.conf":                          unit + "Environment=HTTP_PROXY=machine\n",
		"run/dropins/20.conf":                  "->" + host,
		"run/dropins/30.conf":                  "->/srv/round",
		"srv/round":                            "->/srv/round",
		"etc/linked":                           "->/srv/linked",
		"srv/linked":                           "NO_PROXY=machine\n",
		"etc/host":                             "->" + host,
		"etc/above":                            "->" + outside,
		usrUnits + "kubelet.service.d/40.conf": unit + "Environment=https_proxy=hidden\n",
		"run/dropins/40.conf":                  "->/dev/null",
		"run/systemd/system/kubelet.service":   "->/lib/systemd/system/kubelet.service",

		"usr/local/lib/systemd/system/else.socket": "",
	})
	s, all := onlyService(t, os.DirFS(root))
	if diff := cmp.Diff(map[string]string{"HTTP_PROXY": "machine", "NO_PROXY": "machine"}, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	unread := int(units.Unreadable)
	want := fmt.Sprintf(`%d %skubelet.service.d/20.conf:0 the link /%[2]skubelet.service.d/20.conf leads to %s, which is not there
%[1]d %[2]skubelet.service.d/30.conf:0 leads through more than 32 links: it is not read
%[1]d run/systemd/system/kubelet.service:3 the link /etc/host leads to %[3]s, which is not there
%[1]d run/systemd/system/kubelet.service:4 the link /etc/above leads to %[3]s, which is not there`, unread, etcUnits, host)
	if diff := cmp.Diff(want, reasons(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	hidden := []units.Hidden{{Path: usrUnits + "kubelet.service.d/40.conf", By: etcUnits + "kubelet.service.d/40.conf, a link to /dev/null,", Variables: []string{"https_proxy"}}}
	if diff := cmp.Diff(hidden, s.Hidden); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pipe would wait, and a device has no end.
func TestNothingButFilesIsRead(t *testing.T) {
	root := onDisk(t, map[string]string{
		"kubelet.service.d/10.conf": unit + "Environment=NO_PROXY=a\nEnvironmentFile=/etc/pipe\nEnvironmentFile=-/etc/large\n",
		"etc/x":                     "",
	})
	must(t, syscall.Mkfifo(filepath.Join(root, "kubelet.service.d/20.conf"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(root, "kubelet.service"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(root, "etc/pipe"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "etc/large"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(root, "etc/large"), 1<<40))
	s, _ := onlyService(t, os.DirFS(root))
	irregular := "is neither a file nor a folder: it is not read"
	for _, want := range []string{"kubelet.service:0 " + irregular, "20.conf:0 " + irregular, "etc/pipe:0 " + irregular, "etc/large:0 is larger than 64 MiB"} {
		if !strings.Contains(reasons(s), want) {
			t.Errorf("no %q in\n%s", want, reasons(s))
		}
	}
}

func TestADeviceOfTheMachineIsNotRead(t *testing.T) {
	files := folder(map[string]string{usrUnits + "kubelet.service": unit + "EnvironmentFile=/etc/zero\nEnvironmentFile=/dev/null\n"}).(fstest.MapFS)
	files["etc/zero"] = &fstest.MapFile{Data: []byte("/dev/zero"), Mode: fs.ModeSymlink}
	files["dev/zero"] = &fstest.MapFile{Mode: fs.ModeDevice | fs.ModeCharDevice}
	s, _ := onlyService(t, files)
	if got := reasons(s); !strings.HasSuffix(got, "/zero:0 is neither a file nor a folder: it is not read; what it sets would win over every Environment=") || len(s.Problems) != 1 {
		t.Error(got)
	}
}

func TestAUnitHasTheDropInsOfAllItsNames(t *testing.T) {
	files := folder(map[string]string{
		usrUnits + "crio.service":                  unit + "Environment=NO_PROXY=unit\n",
		etcUnits + "cri-o.service.d/10.conf":       unit + "Environment=NO_PROXY=alias\n",
		etcUnits + "cri-o.service.d/20.conf":       unit + "Environment=HTTP_PROXY=alias\n",
		usrUnits + "crio.service.d/20.conf":        unit + "Environment=HTTP_PROXY=own\n",
		"run/systemd/system/ocid.service.d/x.conf": unit + "Environment=no_proxy=second\n",
	}).(fstest.MapFS)
	link := func(name, to string) { files[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	link(usrUnits+"cri-o.service", "crio.service")
	link(etcUnits+"ocid.service", "/usr/lib/systemd/system/cri-o.service")
	link("lib", "usr/lib")
	s, all := onlyService(t, files)
	if diff := cmp.Diff(map[string]string{"NO_PROXY": "alias", "HTTP_PROXY": "own", "no_proxy": "second"}, all); diff != "" || s.Name != "crio.service" {
		t.Errorf("%s (-want +got):\n%s", s.Name, diff)
	}
	want := []units.Hidden{{Path: etcUnits + "cri-o.service.d/20.conf", By: usrUnits + "crio.service.d/20.conf", Variables: []string{"HTTP_PROXY"}}}
	if diff := cmp.Diff(want, s.Hidden); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALinkToNowhereIsNamed(t *testing.T) {
	const text = unit + "Environment=NO_PROXY=a\nEnvironmentFile=-/etc/gone\nEnvironmentFile=/etc/gone\n"
	for dir, want := range map[string]string{
		"": fmt.Sprintf(`%d kubelet.service:3 the link etc/gone leads to /srv/e, which is not below the folder: what it sets, if the machine has it, wins over every Environment=
%[1]d kubelet.service:4 the link etc/gone leads to /srv/e, which is not below the folder: what it sets, if the machine has it, wins over every Environment=`, units.Unknown),
		usrUnits: fmt.Sprintf(`%d %skubelet.service:3 the link /etc/gone leads to /srv/e, which is not there
%d %[2]skubelet.service:4 the link /etc/gone leads to /srv/e, which is not there: the service does not start`, units.Unreadable, usrUnits, units.Fails),
	} {
		files := folder(map[string]string{dir + "kubelet.service": text}).(fstest.MapFS)
		files["etc/gone"] = &fstest.MapFile{Data: []byte("/srv/e"), Mode: fs.ModeSymlink}
		s, _ := onlyService(t, files)
		if diff := cmp.Diff(want, reasons(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}

func TestAnInstanceHasTheTemplateThatItsAliasLeadsTo(t *testing.T) {
	files := folder(map[string]string{
		"node@.service":            unit,
		"node@.service.d/1.conf":   unit + "Environment=NO_PROXY=template\n",
		"agent@a.service.d/2.conf": unit + "Environment=HTTP_PROXY=alias\n",
	}).(fstest.MapFS)
	files["agent@.service"] = &fstest.MapFile{Data: []byte("node@.service"), Mode: fs.ModeSymlink}
	var got []string
	for _, s := range units.Read(files) {
		for _, v := range s.Variables {
			got = append(got, s.Name+" "+v.Name)
		}
	}
	if want := []string{"node@.service NO_PROXY", "node@a.service HTTP_PROXY", "node@a.service NO_PROXY"}; !slices.Equal(want, got) {
		t.Errorf("%q", got)
	}
}

func TestWhatIsHiddenIsSaid(t *testing.T) {
	_, s := got(t, map[string]string{
		usrUnits + "kubelet.service":                   unit + "Environment=NO_PROXY=a\n",
		etcUnits + "kubelet.service":                   unit,
		"run/systemd/system/kubelet.service.d/10.conf": unit,
		usrUnits + "kubelet.service.d/10.conf":         unit + "EnvironmentFile=/etc/e\nEnvironment=HTTP_PROXY=a NO_PROXY=b\n",
		usrUnits + "service.d/10.conf":                 unit + "Environment=PATH=/bin\n",
		"etc/e":                                        "ALL_PROXY=a\nNO_PROXY=a\n",
	}, "kubelet.service")
	want := []units.Hidden{
		{Path: usrUnits + "kubelet.service", By: etcUnits + "kubelet.service", Variables: []string{"NO_PROXY"}},
		{Path: usrUnits + "kubelet.service.d/10.conf", By: "run/systemd/system/kubelet.service.d/10.conf", Variables: []string{"ALL_PROXY", "HTTP_PROXY", "NO_PROXY"}},
	}
	if diff := cmp.Diff(want, s.Hidden); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDropInsOfManyServicesAloneAreReadToo(t *testing.T) {
	services := units.Read(folder(map[string]string{
		"service.d/10.conf":       unit + "Environment=NO_PROXY=all\n",
		"rke2-.service.d/20.conf": unit + "Environment=HTTP_PROXY=rke2\n",
		"k3s-.service.d/10.conf":  unit + "Environment=PATH=/bin\n",
	}))
	var got []string
	for _, s := range services {
		for _, v := range s.Variables {
			got = append(got, s.Name+" "+v.Name)
		}
	}
	want := []string{"*.service NO_PROXY", "rke2-*.service HTTP_PROXY", "rke2-*.service NO_PROXY"}
	if !slices.Equal(want, got) {
		t.Errorf("%q", got)
	}
}

func TestALineOfAFileThatIsNoAssignmentIsDropped(t *testing.T) {
	_, s := got(t, map[string]string{"kubelet.service": unit + "EnvironmentFile=/etc/e\n", "etc/e": "\ufeffNO_PROXY=a\nMY HTTP_PROXY=S3CRET\nexport PATH\n"}, "kubelet.service")
	want := fmt.Sprintf("%d /etc/e:1 systemd drops the line: it is not NAME=VALUE, since a byte order mark is before the name\n%[1]d /etc/e:2 systemd drops the line: it is not NAME=VALUE", units.Dropped)
	if diff := cmp.Diff(want, reasons(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pattern through folders that lead to each other has no end.
func TestAPatternThatLeadsThroughTooManyFoldersIsNamed(t *testing.T) {
	files := map[string]string{usrUnits + "kubelet.service": unit + "EnvironmentFile=-/etc/loop/" + strings.Repeat("*/", 12) + "*\n"}
	for _, name := range []string{"1", "2", "3", "4"} {
		files["etc/loop/"+name] = "->."
	}
	s, _ := onlyService(t, os.DirFS(onDisk(t, files)))
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Reason, "too many folders") {
		t.Errorf("%+v", s.Problems)
	}
}
