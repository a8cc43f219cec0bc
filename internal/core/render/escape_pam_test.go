package render

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestEtcEnvironmentCarriesWhatItCanAndRefusesTheRestWithoutShowingIt(t *testing.T) {
	longest := strings.Repeat("x", MaxPAMLine-len("NO_PROXY="))
	for name, test := range map[string]struct {
		value string
		want  string // of the refusal; empty where it is written
	}{
		"nothing":                {"", ""},
		"plain":                  {"http://me:p%40ss@proxy:3128", ""},
		"a blank inside":         {"a, b", ""},
		"what shells expand":     {"$HOME ${X} `id` ;&", ""},
		"a quote inside":         {`a"b'c`, ""},
		"a backslash inside":     {`DOM\user`, ""},
		"UTF-8":                  {"é€😀", ""},
		"jinja":                  {"{{ x }}", ""}, // which checkUserData refuses
		"the longest line":       {longest, ""},
		"a byte more":            {longest + "S", "8191 bytes"},
		"a # inside":             {"S3CRET#", "#"},
		"a quote at the start":   {`"S3CRET`, "quote"},
		"quotes at both ends":    {`"S3CRET"`, "quote"},
		"a single quote":         {`S3CRET'`, "quote"},
		"a line end":             {"S3CRET\nB=b", "control character"},
		"a carriage return":      {"S3CRET\r", "control character"},
		"a tab":                  {"S3CRET\t", "control character"},
		"a NUL byte":             {"S3CRET\x00", "control character"},
		"a DEL":                  {"S3CRET\x7f", "control character"},
		"a backslash at the end": {`S3CRET\`, "backslash"},
		"a blank in front":       {" S3CRET", "blank"},
		"a blank at the end":     {"S3CRET ", "blank"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pamAssignment("NO_PROXY", test.value)
			if test.want == "" {
				if err != nil || got != "NO_PROXY="+test.value {
					t.Fatalf("got %.80q (%v)", got, err)
				}
				return
			}
			if err == nil || got != "" || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "NO_PROXY") || strings.Contains(err.Error(), "S3CRET") {
				t.Errorf("got %.80q, refused with %v", got, err)
			}
		})
	}
}

// A password can be refused in two ways, and people look for them by reason.
func TestARefusedValueIsAProblemOfTheClusterAndTheKey(t *testing.T) {
	for text, want := range map[string]resolve.Reason{"a#b": resolve.ReasonNotCarriable, strings.Repeat("x", MaxPAMLine): resolve.ReasonTooLarge} {
		e := effective(t, text)
		e.Node.Files = []resolve.NodeFile{resolve.FileEtcEnvironment}
		secrets, err := Secrets(e)
		var p *resolve.Problem
		if !errors.As(err, &p) || p.Reason != want || p.Object != "Cluster org-acme/mycluster" || p.Field != EtcEnvironmentKey || !strings.Contains(p.Detail, "NO_PROXY") || len(secrets) != 0 {
			t.Errorf("%.20s: %v (%#v)", text, secrets, err)
		}
	}
}

// loginEnvironment runs su in a mount namespace of its own, where its service has
// pam_env alone, and returns the environment that a login gets from a file.
func loginEnvironment(t *testing.T, file string) map[string]string {
	t.Helper()
	if _, err := os.Stat("/etc/pam.d/su"); err != nil || os.Geteuid() != 0 {
		without(t, "there is no su that root can run: /etc/environment was not held against the real reader")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "environment")
	service := "auth sufficient pam_rootok.so\naccount required pam_permit.so\nsession required pam_env.so conffile=/dev/null envfile=" + path + "\n"
	for name, content := range map[string]string{path: file, filepath.Join(dir, "su"): service} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/sh", "-ec", `mount --make-rprivate / && mount --bind "$0" /etc/pam.d/su && exec env -i PATH=/usr/bin:/bin su -s /bin/sh root -c "env -0"`, filepath.Join(dir, "su"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	got := map[string]string{}
	for _, assignment := range strings.Split(string(out), "\x00") {
		name, value, _ := strings.Cut(assignment, "=")
		got[name] = value
	}
	return got
}

func TestPAMReadsEveryValueOfEtcEnvironmentAsItWasMeant(t *testing.T) {
	want := map[string]string{}
	var file strings.Builder
	for i, value := range append(nastyValues(), strings.Repeat("x", MaxPAMLine-len("V1000="))) {
		name := fmt.Sprintf("V%d", i)
		if assignment, err := pamAssignment(name, value); err == nil && value != "" {
			file.WriteString(assignment + "\n")
			want[name] = value
		}
	}
	file.WriteString("LAST=here\n")
	want["LAST"] = "here"
	got := loginEnvironment(t, file.String())
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%.100q: pam_env has %.120q", value, got[name])
		}
	}
	if len(want) < 300 {
		t.Errorf("only %d values", len(want))
	}
}

// The file that it is appended to may lack its last line end, and may be followed
// by something.
func TestPAMReadsWhatStandsAroundOursInEtcEnvironment(t *testing.T) {
	ours, err := EtcEnvironment(effective(t, "a.example"))
	if err != nil {
		t.Fatal(err)
	}
	got := loginEnvironment(t, `PATH="/usr/bin:/bin:/before"`+string(ours)+"AFTER=1\n")
	for name, want := range map[string]string{
		"HTTP_PROXY": "http://proxy.example:3128", "http_proxy": "http://proxy.example:3128", "NO_PROXY": "a.example", "no_proxy": "a.example",
		"AFTER": "1",
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if !strings.HasSuffix(got["PATH"], "/before") {
		t.Errorf("PATH is %s", got["PATH"])
	}
}

func TestWhatIsWrittenForPAMIsOneLineOfItself(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(nastyPieces))
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		if line, err := pamAssignment("V", value); err == nil {
			checkPAM(t, "V", value, line)
		}
	})
}

func FuzzPAMAssignment(f *testing.F) {
	for _, piece := range nastyPieces {
		f.Add(piece)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if line, err := pamAssignment("V", value); err == nil {
			checkPAM(t, "V", value, line)
		}
	})
}

// checkPAM reads a line as pam_env does: up to the first #, joined to the next by
// a backslash, quotes off.
func checkPAM(tb failer, name, value, line string) {
	tb.Helper()
	read, _, _ := strings.Cut(line, "#")
	read, _, more := strings.Cut(read, "\n")
	key, got, _ := strings.Cut(read, "=")
	if quoted := strings.TrimLeft(got, `"'`); quoted != got {
		got = strings.TrimRight(quoted, `"'`)
	}
	if key != name || got != value || more || strings.HasSuffix(strings.TrimRight(got, " \t"), `\`) || strings.Contains(line, "\x00") || len(line) > MaxPAMLine {
		tb.Fatalf("%q reads as %q", line, got)
	}
}
