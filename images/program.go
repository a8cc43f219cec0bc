package images

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fairlead-io/fairlead/images/gobuild"
)

// program is a compiled one.
type program struct {
	name    string
	content []byte
	info    *debug.BuildInfo // as the program itself has it: the revision in a label is the one that was compiled
}

// compile builds a program for a platform. No setting of this machine's Go is in it.
func compile(ctx context.Context, repository, name string, platform v1.Platform, temp string) (program, error) {
	file := filepath.Join(temp, fmt.Sprintf("%s-%s-%s", name, platform.OS, platform.Architecture))
	err := gobuild.Build(ctx, gobuild.Options{
		Repository: repository, Program: name, File: file,
		Flags: []string{"-buildvcs=auto", "-ldflags=-s -w"}, // of the linker alone
		Environment: []string{
			"GOFLAGS=-mod=readonly", "GOOS=" + platform.OS, "GOARCH=" + platform.Architecture, "GOAMD64=v1", "GOARM64=v8.0",
			"GOEXPERIMENT=", "GOFIPS140=off",
		},
	})
	if err != nil {
		return program{}, fmt.Errorf("for %s: %w", platform, err)
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

// created returns the time of the commit. The time of the build would differ from one build to the next.
func (p program) created() time.Time {
	created, err := time.Parse(time.RFC3339, p.setting("vcs.time"))
	if err != nil {
		return epoch
	}
	return created
}
