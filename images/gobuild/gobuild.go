// Package gobuild builds Fairlead's programs, for the images and for the tests.
package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// Programs are the folders below operator/cmd.
var Programs = []string{"fairlead-operator", "fairlead", "fairlead-relay"}

// Flags of what is released: no path of this machine, and no tables for a debugger.
var Flags = []string{"-trimpath", "-gcflags=all=-dwarf=false"}

// Quick are flags of what only tests run: no call is inlined, but in the standard library. That saves the compiler a quarter
// of its time, and costs the programs less. They are the Makefile's as well: with others, Go compiles everything once more.
var Quick = []string{"-trimpath", "-gcflags=all=-dwarf=false -l", "-gcflags=std=-dwarf=false"}

// Options say which program to build, and from which repository.
type Options struct {
	Repository  string   // the top folder
	Program     string   // one of Programs
	File        string   // to write, an absolute path
	Flags       []string // of go build, after Flags
	Environment []string // as NAME=value, added to that of this process
}

// Build builds a program so that nothing of this machine is in it: no path, no C library. The error has what go says.
func Build(ctx context.Context, options Options) error {
	arguments := slices.Concat([]string{"build"}, Flags, []string{"-o", options.File}, options.Flags, []string{"./operator/cmd/" + options.Program})
	build := exec.CommandContext(ctx, "go", arguments...)
	build.Dir = options.Repository
	build.Env = append(os.Environ(), append([]string{"GOWORK=off", "CGO_ENABLED=0"}, options.Environment...)...)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", options.Program, err, bytes.TrimSpace(output))
	}
	return nil
}
