// Package release makes what users download: plain manifests, programs, images, charts, and what says of them what they are.
// Everything is made of one commit, and the same commit makes the same bits.
package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Options say where the sources are, and where to write the release.
type Options struct {
	Repository string // the top folder
	Output     string // a folder
	Helm       string // the program
	Images     string // a folder that images.Build has written to; All reads it
}

// All writes everything that a release has, but for the images themselves (package images).
func All(ctx context.Context, options Options) error {
	if err := Images(options); err != nil {
		return err
	}
	var created time.Time
	for _, platform := range Platforms {
		fmt.Fprintf(os.Stderr, "building fairlead for %s, which takes minutes the first time…\n", platform)
		var err error
		if created, err = CommandLine(ctx, options, platform); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return WriteManifests(ctx, options) },
		func() error { return Charts(ctx, options, created) },
		func() error { return Krew(options) },
		func() error { return Notes(options) },
		func() error { return Licences(ctx, options) },
		func() error { return Checksums(options) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program in the repository and returns what it prints. What it complains of is in the error.
func (o Options) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stderr = o.Repository, &complaints
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), args[0], err, bytes.TrimSpace(complaints.Bytes()))
	}
	return output, nil
}

// write writes a file of the release.
func (o Options) write(name string, content []byte) error {
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Output, name), content, 0o644)
}
