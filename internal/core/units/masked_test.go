package units_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/internal/core/units"
)

func TestAMaskedServiceIsNamedByWhatMasksIt(t *testing.T) {
	const etc, usr = "etc/systemd/system/", "usr/lib/systemd/system/"
	null := &fstest.MapFile{Data: []byte("/dev/null"), Mode: fs.ModeSymlink | 0o777}
	text := &fstest.MapFile{Data: []byte(unit)}
	files := fstest.MapFS{
		etc + "containerd.service": null, usr + "containerd.service": text, etc + "crio.service": &fstest.MapFile{},
		etc + "kubelet.service": text, usr + "kubelet.service": null, etc + "docker.service.d/a.conf": text,
	}
	want := map[string]string{"containerd.service": etc + "containerd.service", "crio.service": etc + "crio.service"}
	for _, s := range units.Read(files) {
		if s.Masked != want[s.Name] {
			t.Errorf("%s is masked by %q, want %q", s.Name, s.Masked, want[s.Name])
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("not told of: %v", want)
	}
}
