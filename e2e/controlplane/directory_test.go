package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestTheLeavingsOfADeadTestAreSweptAndNoOthers(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	stays := map[string]bool{
		directoryPrefix + strconv.Itoa(dead.Process.Pid) + "-1": false,
		directoryPrefix + strconv.Itoa(os.Getpid()) + "-1":      true,
		directoryPrefix + "kept-1":                              true,
		"somebody-elses":                                        true,
	}
	for name := range stays {
		if err := os.MkdirAll(filepath.Join(temp, name, "etcd"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweep(temp)
	for name, want := range stays {
		if _, err := os.Stat(filepath.Join(temp, name)); (err == nil) != want {
			t.Errorf("%s stays: %v, want %v", name, err == nil, want)
		}
	}
}
