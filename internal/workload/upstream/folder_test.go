package upstream

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const settingsText = "HTTP_PROXY=http://alice:first@proxy.corp.example:3128\n" +
	"HTTPS_PROXY=http://alice:first@proxy.corp.example:3128\n" +
	"HTTPS_PROXY_PREVIOUS=http://bob:second@proxy.corp.example:3128\n" +
	"NO_PROXY=.svc,10.0.0.0/8\n"

// replace writes a file beside and renames it, as whoever writes these files does.
func replace(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func TestAFileOfSettingsIsRead(t *testing.T) {
	path := t.TempDir()
	replace(t, filepath.Join(path, SettingsFile), settingsText)
	s, err := NewFolder(path, slog.New(slog.DiscardHandler)).Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.HTTPS.Credentials) != 2 || len(s.HTTP.Credentials) != 1 || s.NoProxy != ".svc,10.0.0.0/8" {
		t.Errorf("https %v, http %v, list %q", s.HTTPS.Credentials, s.HTTP.Credentials, s.NoProxy)
	}
	if _, err := s.Authorities(); err != nil {
		t.Error(err)
	}
}

// The previous settings go on to count, and the log says once why, without a password.
func TestTheLastGoodSettingsCountOn(t *testing.T) {
	for name, content := range map[string]string{
		"cut in the password": settingsText[:40],
		"cut in the list":     settingsText[:len(settingsText)-3],
		"cut after a line":    strings.SplitAfter(settingsText, "\n")[0],
		"empty":               "",
		"no URL":              strings.ReplaceAll(settingsText, "http://alice", "alice"),
		"another order":       "NO_PROXY=.svc\n" + strings.ReplaceAll(settingsText, "NO_PROXY=.svc,10.0.0.0/8\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			replace(t, filepath.Join(path, SettingsFile), settingsText)
			var logged bytes.Buffer
			folder := NewFolder(path, slog.New(slog.NewTextHandler(&logged, nil)))
			good, err := folder.Read()
			if err != nil {
				t.Fatal(err)
			}
			replace(t, filepath.Join(path, SettingsFile), content)
			for range 3 {
				if now, err := folder.Read(); now != good || err != nil {
					t.Fatalf("%v, %v", now, err)
				}
			}
			if folder.Problem() == nil || strings.Count(logged.String(), "cannot be read") != 1 {
				t.Errorf("problem %v, log %s", folder.Problem(), &logged)
			}
			for _, secret := range []string{"first", "second"} {
				if strings.Contains(logged.String(), secret) {
					t.Errorf("the log has %q: %s", secret, &logged)
				}
			}
			replace(t, filepath.Join(path, SettingsFile), settingsText)
			if _, _ = folder.Read(); folder.Problem() != nil {
				t.Errorf("afterwards: %v", folder.Problem())
			}
			if err := os.Remove(filepath.Join(path, SettingsFile)); err != nil {
				t.Fatal(err)
			}
			if now, err := folder.Read(); now != good || err != nil || folder.Problem() == nil {
				t.Errorf("without the file: %v, %v", now, err)
			}
		})
	}
}

// The current credentials count, and the log says once which previous ones do not, without a password.
func TestAPreviousOfNoUseIsIgnored(t *testing.T) {
	for name, content := range map[string]string{
		"no URL":         strings.ReplaceAll(settingsText, "http://bob:second@", "ftp://bob:second@"),
		"bad escape":     strings.ReplaceAll(settingsText, "second@", "second%zz@"),
		"another's host": strings.ReplaceAll(settingsText, "second@proxy", "second@other"),
		"no proxy":       strings.ReplaceAll(settingsText, "http://alice:first@proxy.corp.example:3128", ""),
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			replace(t, filepath.Join(path, SettingsFile), settingsText)
			var logged bytes.Buffer
			folder := NewFolder(path, slog.New(slog.NewTextHandler(&logged, nil)))
			if _, err := folder.Read(); err != nil || strings.Contains(logged.String(), "WARN") {
				t.Fatal(err, &logged)
			}
			replace(t, filepath.Join(path, SettingsFile), strings.ReplaceAll(content, ".svc", ".local"))
			for range 3 {
				s, err := folder.Read()
				if err != nil || folder.Problem() != nil || s.NoProxy != ".local,10.0.0.0/8" || len(s.HTTPS.Credentials) > 1 || len(s.Warnings) != 1 {
					t.Fatalf("%v, %v, %v", s, err, folder.Problem())
				}
			}
			if text := logged.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, path+"/HTTPS_PROXY_PREVIOUS: ") || strings.Contains(text, "second") {
				t.Errorf("the log: %s", text)
			}
		})
	}
}

func TestWithoutAnySettingsThereIsAnError(t *testing.T) {
	if s, err := NewFolder(t.TempDir(), slog.New(slog.DiscardHandler)).Read(); err == nil || !strings.Contains(err.Error(), HTTPSFile) {
		t.Errorf("%v, %v", s, err)
	}
}

// While files are replaced, nobody reads the host of one with the password of another.
func TestSettingsAreOfOneMoment(t *testing.T) {
	path := t.TempDir()
	write := func(i int) {
		url := fmt.Sprintf("http://user:pass%d@proxy%d.corp.example:3128", i, i)
		replace(t, filepath.Join(path, SettingsFile), fmt.Sprintf("HTTP_PROXY=%s\nHTTPS_PROXY=%s\nNO_PROXY=n%d.example\n", url, url, i))
	}
	write(0)
	folder := NewFolder(path, slog.New(slog.DiscardHandler))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 1000 {
			write(i)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		s, err := folder.Read()
		if err != nil {
			t.Fatal(err)
		}
		var i int
		if _, err := fmt.Sscanf(s.NoProxy, "n%d.example", &i); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("http://user:pass%d@proxy%d.corp.example:3128", i, i); s.HTTP.URL.Reveal() != want || s.HTTPS.URL.Reveal() != want {
			t.Fatalf("list %d with %s", i, s.HTTPS.Address)
		}
	}
	if s, _ := folder.Read(); s.NoProxy != "n999.example" {
		t.Errorf("at the end %s", s.NoProxy)
	}
}

// A file that is away for a moment and comes back as it was, is read.
func TestAFileThatComesBackAsItWasIsNoProblem(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, SettingsFile)
	if err := os.WriteFile(file, []byte("HTTPS_PROXY=http://proxy.example:3128\nNO_PROXY=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	_ = os.Chtimes(file, old, old)
	folder := NewFolder(path, slog.New(slog.DiscardHandler))
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return os.Rename(file, file+"~") },
		func() error { return os.Rename(file+"~", file) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Read(); err != nil {
			t.Fatal(err)
		}
	}
	if err := folder.Problem(); err != nil {
		t.Error(err)
	}
}
