package render_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

var variants = []ignition.Variant{ignition.Flatcar, ignition.FedoraCoreOS}

// machine is a Butane config as somebody else reads it.
type machine struct {
	Ignition map[string]any
	Storage  struct {
		Files []struct {
			Path     string
			Mode     int
			Contents struct{ Inline *string }
		}
	}
	Systemd struct {
		Units []struct {
			Name, Contents string
			Enabled        bool
			Dropins        []struct{ Name, Contents string }
		}
	}
}

func (m machine) file(path string) (content string, mode int) {
	for _, file := range m.Storage.Files {
		if file.Path == path {
			return *file.Contents.Inline, file.Mode
		}
	}
	return "", 0
}

func (m machine) unit(name string) string {
	for _, unit := range m.Systemd.Units {
		if unit.Name == name {
			text := unit.Contents
			for _, dropIn := range unit.Dropins {
				text += dropIn.Name + ":" + dropIn.Contents
			}
			return text
		}
	}
	return ""
}

func butane(t *testing.T, e resolve.Effective, variant ignition.Variant) machine {
	t.Helper()
	text, err := render.Butane(e, variant)
	if err != nil {
		t.Fatal(err)
	}
	var m machine
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAUnitReadsTheFileWithTheListOfItsProgram(t *testing.T) {
	e := example(t, func(e *resolve.Effective) {
		e.Node.Units = []string{"crio.service"}
		e.NoProxy = noproxy.Lists{Any: list("any.example"), Go: list("go.example", "10.0.0.0/8")}
	})
	for _, variant := range variants {
		m := butane(t, e, variant)
		for unit, test := range map[string]struct{ path, list string }{
			"containerd.service": {"/etc/fairlead/proxy.env", "go.example,10.0.0.0/8"},
			"kubelet.service":    {"/etc/fairlead/proxy.env", "go.example,10.0.0.0/8"},
			"crio.service":       {"/etc/fairlead/proxy-any.env", "any.example"},
		} {
			if got, want := m.unit(unit), "http-proxy.conf:[Service]\nEnvironmentFile="+test.path+"\n"; got != want {
				t.Errorf("%s has %q, want %q", unit, got, want)
			}
			content, mode := m.file(test.path)
			if !strings.Contains(content, "\nno_proxy=\""+test.list+"\"\n") || !strings.Contains(content, "HTTPS_PROXY=\""+exampleURL+"\"\n") || mode != 0o600 {
				t.Errorf("%s, %#o:\n%s", test.path, mode, content)
			}
		}
		want := map[string]any{"proxy": map[string]any{"http_proxy": exampleURL, "https_proxy": exampleURL, "no_proxy": []any{"go.example", "10.0.0.0/8"}}}
		if diff := cmp.Diff(want, m.Ignition); diff != "" {
			t.Errorf("for Ignition itself: %s", diff)
		}
	}
}

func TestWithoutOtherUnitsThereIsNoSecondFile(t *testing.T) {
	if m := butane(t, example(t), ignition.Flatcar); len(m.Storage.Files) != 1 || len(m.Systemd.Units) != 2 {
		t.Errorf("%+v", m)
	}
}

// The file must be there: without it, the drop-in keeps its unit from starting.
func TestAMachineWithoutAProxyHasAnEmptyFile(t *testing.T) {
	m := butane(t, blank(resolve.ModeDirect), ignition.Flatcar)
	if len(m.Ignition) != 0 || len(m.Storage.Files) != 1 || m.Storage.Files[0].Contents.Inline == nil || *m.Storage.Files[0].Contents.Inline != "" {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(m.unit("kubelet.service"), "EnvironmentFile="+m.Storage.Files[0].Path) {
		t.Errorf("%+v", m)
	}
}

func TestTheTrustedCAIsWhereTheSystemLooksForIt(t *testing.T) {
	const one = "-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n"
	const two = "-----BEGIN CERTIFICATE-----\nMg==\n-----END CERTIFICATE-----\n"
	e := example(t, func(e *resolve.Effective) { e.Node.TrustedCA, e.Node.Units = []byte(one+two), []string{"crio.service"} })
	flatcar, fcos := butane(t, e, ignition.Flatcar), butane(t, e, ignition.FedoraCoreOS)
	for path, want := range map[string]string{"/etc/ssl/certs/fairlead-1.pem": one, "/etc/ssl/certs/fairlead-2.pem": two, "/etc/ssl/certs/fairlead-3.pem": ""} {
		if content, mode := flatcar.file(path); content != want || want != "" && mode != 0o644 {
			t.Errorf("Flatcar: %s is %q, %#o", path, content, mode)
		}
	}
	if content, mode := fcos.file("/etc/pki/ca-trust/source/anchors/fairlead.pem"); content != one+two || mode != 0o644 {
		t.Errorf("Fedora CoreOS: %q, %#o", content, mode)
	}
	unit := flatcar.unit("fairlead-trusted-ca.service")
	if !strings.Contains(unit, "\nBefore=containerd.service kubelet.service crio.service\n") || !strings.Contains(unit, "\nExecStart=/usr/sbin/update-ca-certificates\n") {
		t.Errorf("Flatcar: %s", unit)
	}
	if last := flatcar.Systemd.Units[len(flatcar.Systemd.Units)-1]; !last.Enabled || !strings.HasSuffix(last.Contents, "\n[Install]\nWantedBy=multi-user.target\n") {
		t.Errorf("Flatcar does not start it: %+v", last)
	}
	if unit := fcos.unit("fairlead-trusted-ca.service"); unit != "" {
		t.Errorf("Fedora CoreOS has a unit of its own for this, and gets ours: %s", unit)
	}
	for _, m := range []machine{flatcar, fcos} {
		want := map[string]any{"tls": map[string]any{"certificate_authorities": []any{map[string]any{"inline": one + two}}}}
		if diff := cmp.Diff(want, m.Ignition["security"]); diff != "" {
			t.Errorf("for Ignition itself: %s", diff)
		}
	}
}

// Most companies have a proxy for https that is spoken to in http.
const insecure = "insecure plaintext HTTP proxy specified for HTTPS resources"

func TestTheSecretHoldsWhatButaneTakesWithoutAComplaint(t *testing.T) {
	files := func(e *resolve.Effective) {
		e.Node.Files = []resolve.NodeFile{resolve.FileFlatcar, resolve.FileFedoraCoreOS}
		e.Node.Units, e.Node.TrustedCA = []string{"crio.service"}, []byte("PEM\n")
	}
	direct := blank(resolve.ModeDirect)
	files(&direct)
	for name, e := range map[string]resolve.Effective{"proxied": example(t, files), "direct": direct} {
		_, systemd := secrets(t, e)
		for _, system := range []string{"flatcar", "fcos"} {
			text := systemd.Data[system+"Butane"]
			options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true}}
			json, report, err := config.TranslateBytes(text, options)
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", name, system, err, text)
			}
			for _, entry := range report.Entries {
				if entry.Message != insecure {
					t.Errorf("%s, %s: %s", name, system, entry)
				}
			}
			if diff := cmp.Diff(string(json)+"\n", string(systemd.Data[system+"Ignition"])); diff != "" {
				t.Errorf("%s, %s: %s", name, system, diff)
			}
		}
	}
}

func TestTheSameMachineIsWrittenInTheSameBytes(t *testing.T) {
	e := example(t, func(e *resolve.Effective) {
		e.Node.Units, e.Node.TrustedCA = []string{"a.service", "b.service"}, []byte("PEM\n")
	})
	var seen []string
	for range 20 {
		text, err := render.Ignition(e, ignition.Flatcar)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(text))
	}
	if len(slices.Compact(seen)) != 1 {
		t.Error("the bytes differ from run to run")
	}
}

func TestWhatButaneRefusesIsAProblemThatRepeatsNothing(t *testing.T) {
	text, err := render.Ignition(example(t, func(e *resolve.Effective) { e.Node.Units = []string{"S3CRET"} }), ignition.Flatcar)
	var p *resolve.Problem
	if !errors.As(err, &p) || p.Reason != resolve.ReasonNotCarriable || text != nil || strings.Contains(p.Error(), "S3CRET") || !strings.Contains(p.Error(), "org-acme/mycluster") {
		t.Errorf("%v\n%s", err, text)
	}
}
