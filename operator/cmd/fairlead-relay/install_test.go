package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestItWritesItselfOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bin")
	path := filepath.Join(folder, "fairlead-relay")
	written := func() os.FileInfo {
		t.Helper()
		var stderr bytes.Buffer
		if status := run(t.Context(), []string{"--install", path}, &stderr, &stderr); status != 0 {
			t.Fatalf("%d: %s", status, &stderr)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := written()
	self, _ := os.Executable()
	own, _ := os.Stat(self)
	if first.Size() != own.Size() || first.Mode() != 0o755 {
		t.Errorf("%d bytes, mode %v", first.Size(), first.Mode())
	}
	if !os.SameFile(first, written()) {
		t.Error("the same program was written again")
	}
	if err := os.WriteFile(path, []byte("another one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if other := written(); other.Size() != own.Size() {
		t.Errorf("%d bytes over another program", other.Size())
	}
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}
