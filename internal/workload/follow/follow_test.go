package follow

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

func source(generation int) *corev1.Secret {
	url := fmt.Sprintf("http://user:pass%d@proxy%d.corp.example:3128", generation, generation)
	return &corev1.Secret{Data: map[string][]byte{
		upstream.HTTPFile: []byte(url), upstream.HTTPSFile: []byte(url), upstream.NoProxyFile: fmt.Appendf(nil, "n%d.example", generation),
	}}
}

// newFollower has no API server: what it was told last is set by the tests.
func newFollower(t *testing.T, asSettings bool) (*follower, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	return &follower{Options: Options{Namespace: "fairlead-system", Folder: filepath.Join(t.TempDir(), "relay"), AsSettings: asSettings}, log: slog.New(slog.NewTextHandler(&logged, nil))}, &logged
}

func settings(t *testing.T, f *follower) *upstream.Settings {
	t.Helper()
	s, err := upstream.NewFolder(f.Folder, slog.New(slog.DiscardHandler)).Read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheRelayReadsWhatWasFollowed(t *testing.T) {
	for _, asSettings := range []bool{false, true} {
		f, logged := newFollower(t, asSettings)
		f.secret = source(1)
		f.secret.Data[upstream.HTTPSPreviousFile] = []byte("http://user:before@proxy1.corp.example:3128")
		f.write()
		s := settings(t, f)
		if len(s.HTTPS.Credentials) != 2 || len(s.HTTP.Credentials) != 1 || s.NoProxy != "n1.example" {
			t.Errorf("%v %v %s: %s", s.HTTPS.Credentials, s.HTTP.Credentials, s.NoProxy, logged)
		}
		before, _ := os.ReadDir(f.Folder)
		f.write()
		if after, _ := os.ReadDir(f.Folder); strings.Count(logged.String(), "are written") != 1 || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("nothing has changed, and it was written again: %v, %v, %s", before, after, logged)
		}
	}
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	for _, asSettings := range []bool{false, true} {
		f, _ := newFollower(t, asSettings)
		f.secret, f.bundle = source(1), &corev1.ConfigMap{Data: map[string]string{upstream.CAFile: authority}}
		f.write()
		_ = filepath.WalkDir(f.Folder, func(path string, entry os.DirEntry, err error) error {
			if info, _ := entry.Info(); err != nil || entry.Type()&os.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v %v", path, info.Mode(), err)
			}
			return nil
		})
		if _, err := settings(t, f).Authorities(); err != nil {
			t.Error(err)
		}
	}
}

// The last good settings stay, and the log names the object and the key, once and without a value.
func TestABadSourceChangesNothing(t *testing.T) {
	for name, change := range map[string]func(*follower){
		"gone":           func(f *follower) { f.secret = nil },
		"empty":          func(f *follower) { f.secret = &corev1.Secret{} },
		"no list":        func(f *follower) { delete(f.secret.Data, upstream.NoProxyFile) },
		"no URL":         func(f *follower) { f.secret.Data[upstream.HTTPSFile] = []byte("user:pass1@proxy") },
		"two lines":      func(f *follower) { f.secret.Data[upstream.HTTPSFile] = []byte("http://u:pass1@p:1\nNO_PROXY=*") },
		"no certificate": func(f *follower) { f.bundle = &corev1.ConfigMap{Data: map[string]string{upstream.CAFile: "pass1"}} },
	} {
		for _, asSettings := range []bool{false, true} {
			f, logged := newFollower(t, asSettings)
			f.secret = source(1)
			f.write()
			change(f)
			f.write()
			f.write()
			if s := settings(t, f); s.NoProxy != "n1.example" {
				t.Errorf("%s: %s", name, s.NoProxy)
			}
			if text := logged.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "fairlead-system/fairlead-") || strings.Contains(text, "pass1") {
				t.Errorf("%s: %s", name, text)
			}
			f.secret, f.bundle = source(2), nil
			f.write()
			if s := settings(t, f); s.NoProxy != "n2.example" {
				t.Errorf("%s, afterwards: %s: %s", name, s.NoProxy, logged)
			}
		}
	}
}

// While the ConfigMap is gone, a relay still knows its proxy. One without certificates says that there are none.
func TestCertificatesGoWhenTheConfigMapSaysSo(t *testing.T) {
	for _, asSettings := range []bool{false, true} {
		for name, empty := range map[string]map[string]string{"no key": nil, "an empty key": {upstream.CAFile: ""}} {
			f, logged := newFollower(t, asSettings)
			at := filepath.Join(f.Folder, upstream.CAFile)
			if !asSettings {
				at = filepath.Join(f.Folder, data, upstream.CAFile)
			}
			has := func(when, want string) {
				t.Helper()
				if found, _ := os.ReadFile(at); string(found) != want {
					t.Errorf("as settings %v, %s, %s: %q\n%s", asSettings, name, when, found, logged)
				}
			}
			f.secret, f.bundle = source(1), &corev1.ConfigMap{Data: map[string]string{upstream.CAFile: authority}}
			f.write()
			has("at first", authority)
			f.secret, f.bundle = source(2), nil
			f.write()
			has("without the ConfigMap", authority)
			if s := settings(t, f); s.NoProxy != "n2.example" {
				t.Errorf("without the ConfigMap, the source is that of before: %s", logged)
			}
			f.bundle = &corev1.ConfigMap{Data: empty}
			f.write()
			has("with an empty ConfigMap", "")
			f.bundle = nil
			f.write()
			has("at the end", "")
			if strings.Contains(logged.String(), "level=ERROR") {
				t.Error(logged)
			}
		}
	}
}

// A machine without its proxy cannot pull images, so nobody takes it away by mistake. Pods get an answer that says so.
func TestASourceWithoutAProxyTakesNoneFromAMachine(t *testing.T) {
	none := &corev1.Secret{Data: map[string][]byte{upstream.HTTPSFile: nil, upstream.HTTPFile: []byte(" "), upstream.NoProxyFile: nil}}
	for _, asSettings := range []bool{false, true} {
		f, logged := newFollower(t, asSettings)
		f.secret = none
		f.write()
		if s := settings(t, f); !s.HTTPS.URL.IsZero() || strings.Contains(logged.String(), "level=ERROR") {
			t.Errorf("there was none: %s", logged)
		}
		f.secret = source(1)
		f.write()
		before := testutil.ToFloat64(rejected)
		f.secret = none
		f.write()
		refused := strings.Count(logged.String(), "fairlead-system/fairlead-source: it names no proxy")
		if s := settings(t, f); s.HTTPS.URL.IsZero() == asSettings || (refused == 1) != asSettings || (testutil.ToFloat64(rejected) == before+1) != asSettings {
			t.Errorf("as settings %v: %s: %s", asSettings, s.HTTPS.URL, logged)
		}
	}
}

// The current credentials do not wait for the previous ones.
func TestABadPreviousIsIgnoredAndNamed(t *testing.T) {
	for name, previous := range map[string]string{
		"no URL":         "u:pass1@p",
		"bad escape":     "http://u:pass1%zz@proxy2.corp.example:3128",
		"two lines":      "http://u:pass1@proxy2.corp.example:3128\nNO_PROXY=*\n",
		"another's host": "http://u:pass1@proxy1.corp.example:3128",
	} {
		for _, asSettings := range []bool{false, true} {
			f, logged := newFollower(t, asSettings)
			f.secret = source(1)
			f.write()
			f.secret = source(2)
			f.secret.Data[upstream.HTTPPreviousFile] = []byte(previous)
			f.write()
			f.write()
			if s := settings(t, f); s.NoProxy != "n2.example" || len(s.HTTP.Credentials) != 1 || testutil.ToFloat64(ignored) != 1 {
				t.Errorf("%s: %s, %v, %s", name, s.NoProxy, s.HTTP.Credentials, logged)
			}
			if text := logged.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "fairlead-system/fairlead-source: HTTP_PROXY_PREVIOUS: ") || strings.Contains(text, "pass1") {
				t.Errorf("%s: %s", name, text)
			}
			f.secret = source(3)
			f.write()
			if testutil.ToFloat64(ignored) != 0 {
				t.Errorf("%s: it is gone, and still counted", name)
			}
		}
	}
}

// Nothing changes in the cluster when a disk is mended.
func TestAnErrorOfTheDiskIsTriedAgain(t *testing.T) {
	f, logged := newFollower(t, true)
	at := filepath.Join(f.Folder, upstream.CAFile)
	if err := os.MkdirAll(at, 0o700); err != nil { // nobody reads a folder
		t.Fatal(err)
	}
	f.secret, f.bundle = source(1), nil
	f.write()
	if !f.failed {
		t.Errorf("nobody tries again: %s", logged)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	f.write()
	if s := settings(t, f); f.failed || s.NoProxy != "n1.example" {
		t.Errorf("%s: %s", s.NoProxy, logged)
	}
}

// A thousand changes: a relay reads the host of one with the password of the same.
func TestAReaderSeesWholeSources(t *testing.T) {
	for _, asSettings := range []bool{false, true} {
		f, logged := newFollower(t, asSettings)
		f.secret = source(0)
		f.write()
		folder := upstream.NewFolder(f.Folder, slog.New(slog.DiscardHandler))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 1000 {
				f.secret = source(i)
				f.write()
			}
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			s, err := folder.Read()
			if err != nil || folder.Problem() != nil {
				t.Fatal(err, folder.Problem())
			}
			var i int
			if _, err := fmt.Sscanf(s.NoProxy, "n%d.example", &i); err != nil {
				t.Fatal(err)
			}
			if want := string(source(i).Data[upstream.HTTPSFile]); s.HTTPS.URL.Reveal() != want || s.HTTP.URL.Reveal() != want {
				t.Fatalf("list %d with %s", i, s.HTTPS.Address)
			}
		}
		if s := settings(t, f); s.NoProxy != "n999.example" {
			t.Errorf("at the end %s: %s", s.NoProxy, logged)
		}
		if left, _ := os.ReadDir(f.Folder); len(left) > 2 {
			t.Errorf("%v is left", left)
		}
	}
}

// authority is a certificate that signs.
const authority = `-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUXFmM8ocRnArp7V7wG6YpDJp/NMowCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEQ29ycDAgFw0yNjExMjMxMjQ2NTNaGA8yMTI2MTAzMDEyNDY1
M1owDzENMAsGA1UEAwwEQ29ycDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHaO
HmLbSNfqwQB79dZn2viyuPQ+P7tV2b8tVoyNCGszdL7pfwjfrSO3FMMZg628d3jF
OIhDhb6zYJD9YZYMQE+jUzBRMB0GA1UdDgQWBBTf6VYoZAKOHSlf5Fq3puxGOb0/
bzAfBgNVHSMEGDAWgBTf6VYoZAKOHSlf5Fq3puxGOb0/bzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIFLqrj0B6eXNM3rhukQvouHJEsLW72AKYwkx
feEW29h8AiBdI/f4kaTX8Ht6736DMxetKHVMGorE9btBlbOl3b3AIg==
-----END CERTIFICATE-----
`
