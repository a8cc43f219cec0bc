package follow

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// filesOf returns the files to write and their settings, or an error. Errors and warnings name the object and the key,
// and show no value.
func filesOf(namespace string, secret *corev1.Secret, bundle *corev1.ConfigMap) (map[string]string, *upstream.Settings, error) {
	files, settings, err := settingsOf(secret)
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s/%s: %w", namespace, SecretName, err)
	}
	if bundle == nil || bundle.Data[upstream.CAFile] == "" {
		return files, settings, nil
	}
	files[upstream.CAFile] = bundle.Data[upstream.CAFile]
	if _, ok := upstream.AuthoritiesWith(files[upstream.CAFile]); !ok {
		return nil, nil, fmt.Errorf("configmap %s/%s: %s: there is no certificate in it", namespace, ConfigMapName, upstream.CAFile)
	}
	return files, settings, nil
}

func settingsOf(secret *corev1.Secret) (files map[string]string, settings *upstream.Settings, err error) {
	if secret == nil {
		return nil, nil, errors.New("it does not exist")
	}
	files = map[string]string{}
	var warnings []string
	for _, name := range upstream.Keys {
		value, ok := secret.Data[name]
		lines := bytes.ContainsAny(value, "\n\r\x00")
		switch {
		case !ok && (name == upstream.HTTPSFile || name == upstream.NoProxyFile):
			return nil, nil, fmt.Errorf("it has no key %s", name)
		case !ok:
		case lines && (name == upstream.HTTPPreviousFile || name == upstream.HTTPSPreviousFile):
			warnings = append(warnings, name+": it has more than one line")
		case lines:
			return nil, nil, fmt.Errorf("%s: it has more than one line", name)
		default:
			files[name] = string(value)
		}
	}
	if settings, err = upstream.Parse(files); err != nil {
		return nil, nil, err
	}
	settings.Warnings = append(warnings, settings.Warnings...)
	return files, settings, nil
}

// writeSettings writes the file of settings, and the authorities before it: the new proxy may need them. It reports whether
// something was different.
func writeSettings(folder string, files map[string]string) (bool, error) {
	var lines strings.Builder
	for _, name := range upstream.Keys { // NO_PROXY is the last
		if value, ok := files[name]; ok {
			fmt.Fprintf(&lines, "%s=%s\n", name, value)
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	authorities, at := false, filepath.Join(folder, upstream.CAFile)
	bundle, ok := files[upstream.CAFile]
	if ok {
		var err error
		if authorities, err = replace(at, bundle); err != nil {
			return false, err
		}
	}
	settings, err := replace(filepath.Join(folder, upstream.SettingsFile), lines.String())
	if err == nil && !ok {
		if err = os.Remove(at); errors.Is(err, fs.ErrNotExist) {
			return settings, nil
		}
		authorities = err == nil
	}
	return settings || authorities, err
}

// replace writes beside the file and renames: whoever reads it has one or the other, also after a power failure.
func replace(path, content string) (bool, error) {
	if there, err := os.ReadFile(path); err == nil && string(there) == content {
		return false, nil
	}
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // with mode 0600
	if err != nil {
		return false, err
	}
	defer os.Remove(beside.Name()) //nolint:errcheck // it has been renamed
	_, err = beside.WriteString(content)
	if err := errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return false, err
	}
	err = os.Rename(beside.Name(), path)
	return err == nil, err
}

// data is the link that is switched over, as in a volume of the kubelet.
const data = "..data"

// writeVolume writes a file for each key into a new folder, and switches the link ..data over to it: all of them are new at
// once. It reports whether something was different.
func writeVolume(folder string, files map[string]string) (bool, error) {
	link := filepath.Join(folder, data)
	before, err := os.Readlink(link)
	if err == nil && folderHas(filepath.Join(folder, before), files) {
		return false, removeOthers(folder, before)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	next, err := os.MkdirTemp(folder, "..settings-")
	if err != nil {
		return false, err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(next, name), []byte(content), 0o600); err != nil {
			return false, errors.Join(err, os.RemoveAll(next))
		}
	}
	if err := switchTo(link, filepath.Base(next)); err != nil {
		return false, errors.Join(err, os.RemoveAll(next))
	}
	return true, removeOthers(folder, filepath.Base(next))
}

func switchTo(link, target string) error {
	beside := link + "_tmp"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, beside); err != nil {
		return err
	}
	return os.Rename(beside, link)
}

// removeOthers removes the earlier folders, also those of a run that was killed.
func removeOthers(folder, current string) error {
	found, err := filepath.Glob(filepath.Join(folder, "..settings-*"))
	for _, path := range found {
		if filepath.Base(path) != current {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		return &leftError{err}
	}
	return nil
}

// leftError says which previous settings are still there. Nobody reads them.
type leftError struct{ error }

// folderHas reports whether a folder has exactly these files.
func folderHas(folder string, files map[string]string) bool {
	present, err := os.ReadDir(folder)
	if err != nil || len(present) != len(files) {
		return false
	}
	for name, content := range files {
		if data, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(data) != content {
			return false
		}
	}
	return true
}

// keep adds the authorities that are there while nobody says which they are. It refuses to take its proxy from a machine, which
// could not pull images any more: who wants that changes the machine.
func (f *follower) keep(files map[string]string, settings *upstream.Settings, authorities bool) error {
	at := filepath.Join(f.Folder, data, upstream.CAFile)
	if f.AsSettings {
		at = filepath.Join(f.Folder, upstream.CAFile)
		previous, err := f.read()
		if err == nil && hasProxy(previous) && !hasProxy(settings) {
			return fmt.Errorf("secret %s/%s: it names no proxy, and the machine has one", f.Namespace, SecretName)
		}
	}
	if !authorities {
		return nil
	}
	bundle, err := os.ReadFile(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	files[upstream.CAFile] = string(bundle)
	return nil
}

func hasProxy(settings *upstream.Settings) bool {
	return !settings.HTTPS.URL.IsZero() || !settings.HTTP.URL.IsZero()
}
