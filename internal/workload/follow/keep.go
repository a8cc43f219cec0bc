package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

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
