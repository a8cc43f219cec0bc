package images

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program is a compiled one.
type program struct {
	name    string
	content []byte
	info    *debug.BuildInfo // as the program itself has it: the revision in a label is what was compiled
}

// compile builds a program below operator/cmd so that nothing of this machine is in it: no path, no C library.
func compile(ctx context.Context, repository, name string, platform v1.Platform, temp string) (program, error) {
	file := filepath.Join(temp, fmt.Sprintf("%s-%s-%s", name, platform.OS, platform.Architecture))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", file, "./operator/cmd/"+name)
	build.Dir = repository
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0",
		"GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOAMD64=v1", "GOARM64=v8.0")
	if output, err := build.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("compile %s for %s: %w\n%s", name, platform, err, bytes.TrimSpace(output))
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return program{}, fmt.Errorf("read what %s was built of: %w", name, err)
	}
	return program{name: name, content: content, info: info}, nil
}

func (p program) setting(key string) string {
	for _, setting := range p.info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}

// revision is the commit's, and says so where the files were not all the commit's. It is empty outside a repository.
func (p program) revision() string {
	revision := p.setting("vcs.revision")
	if p.setting("vcs.modified") == "true" {
		revision += "-modified"
	}
	return revision
}

// created is the time of the commit: that of the build would be another one in the next.
func (p program) created() time.Time {
	created, err := time.Parse(time.RFC3339, p.setting("vcs.time"))
	if err != nil {
		return epoch
	}
	return created
}
