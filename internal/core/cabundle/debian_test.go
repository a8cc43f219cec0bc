package cabundle_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
)

// debian is a machine's folders of certificates, without any of its own.
type debian struct {
	testing.TB
	dir string
}

func newDebian(t *testing.T) debian {
	t.Helper()
	for _, program := range []string{"/usr/sbin/update-ca-certificates", "/usr/bin/openssl"} {
		if _, err := os.Stat(program); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no %s here: what the docs say was not held against the real one", program)
		}
		t.Skipf("there is no %s here", program)
	}
	d := debian{t, t.TempDir()}
	for _, dir := range []string{"share", "local", "etc", "hooks"} {
		if err := os.Mkdir(filepath.Join(d.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write("conf", "")
	return d
}

func (d debian) write(name, content string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o644); err != nil {
		d.Fatal(err)
	}
}

// run runs a program of Debian, and returns what it says on stderr.
func (d debian) run(name string, args ...string) string {
	d.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		d.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return stderr.String()
}

// update runs update-ca-certificates, and returns what it says and the file that
// it has made.
func (d debian) update() (warnings, made string) {
	d.Helper()
	path := func(name string) string { return filepath.Join(d.dir, name) }
	warnings = d.run("/usr/sbin/update-ca-certificates", "--fresh", "--certsconf", path("conf"), "--certsdir", path("share"),
		"--localcertsdir", path("local"), "--etccertsdir", path("etc"), "--hooksdir", path("hooks"))
	content, err := os.ReadFile(path("etc/ca-certificates.crt"))
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	return warnings, string(content)
}

func aBundle(t *testing.T) (bundle string, each []string) {
	t.Helper()
	for _, name := range []string{"Root", "Root 2", "Proxy"} {
		certificate, _ := cabundletest.Authority(t, name)
		each = append(each, certificate)
	}
	parsed, err := cabundle.Parse([]byte("# ours\n" + strings.Join(each, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return string(parsed.PEM), each
}

func TestDebianTakesAWholeBundleFromAFileThatEndsInCrt(t *testing.T) {
	bundle, each := aBundle(t)
	for name, test := range map[string]struct{ file, content, made string }{
		"several":                    {"fairlead.crt", bundle, bundle},
		"one":                        {"fairlead.crt", each[0], each[0]},
		"nothing":                    {"fairlead.crt", "", ""},
		"a file that ends otherwise": {"fairlead.pem", bundle, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDebian(t)
			d.write("local/"+test.file, test.content)
			warnings, made := d.update()
			if made != test.made {
				t.Errorf("ca-certificates.crt is %q, not %q", made, test.made)
			}
			// The links by hash, which few programs use, are for files of one.
			if skipped := strings.Contains(warnings, "skipping fairlead.pem"); skipped != (test.file == "fairlead.crt" && test.content != each[0]) {
				t.Errorf("it says %q", warnings)
			}
		})
	}
}

// The links by hash take one certificate a file; the docs have a command for that.
func TestTheDocumentedCommandMakesOneFileOfEachCertificate(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/reference/corporateproxy.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^awk .* /etc/fairlead/ca.pem$`).FindAllString(string(docs), -1)
	if len(commands) != 2 {
		t.Fatalf("the docs have the commands %q", commands)
	}
	example, err := os.ReadFile("../../../examples/nodes/kubeadm-flatcar.yaml")
	if err != nil || strings.Count(string(example), "- "+commands[1]+"\n") != 2 {
		t.Errorf("control planes and workers of the example for Flatcar do not run %s (%v)", commands[1], err)
	}
	bundle, each := aBundle(t)
	for _, command := range commands {
		d := newDebian(t)
		d.write("ca.pem", bundle)
		command = strings.NewReplacer(
			"/etc/fairlead/ca.pem", d.dir+"/ca.pem", "/usr/local/share/ca-certificates/", d.dir+"/local/", "/etc/ssl/certs/", d.dir+"/etc/",
		).Replace(command)
		d.run("/bin/sh", "-c", command)
		if strings.Contains(command, "/local/") {
			if warnings, made := d.update(); made != bundle || warnings != "" {
				t.Errorf("it says %q, and ca-certificates.crt is %q", warnings, made)
			}
		} else {
			d.run("/usr/bin/openssl", "rehash", d.dir+"/etc") // which Flatcar's program begins with
		}
		for _, certificate := range each {
			d.write("one.pem", certificate)
			d.run("/usr/bin/openssl", "verify", "-no-CAfile", "-no-CAstore", "-CApath", d.dir+"/etc", d.dir+"/one.pem")
		}
	}
}
