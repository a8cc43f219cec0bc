// Command build writes the archives of all images, for all platforms, to a folder, and images.txt, which names them by their digests:
//
//	cd images && go run ./build ../.cache/images
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fairlead-io/fairlead/images"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "build: say the folder for the archives")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := build(ctx, os.Args[1])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, output string) error {
	version, err := images.Version("..")
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range images.Names {
		fmt.Fprintf(os.Stderr, "building %s, which takes minutes the first time…\n", name)
		digest, err := images.Build(ctx, images.Options{Repository: "..", Output: output, Name: name, Platforms: images.Platforms})
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s%s:%s@%s\n", images.Registry, name, version, digest)
	}
	fmt.Print(list.String())
	return os.WriteFile(filepath.Join(output, images.List), []byte(list.String()), 0o644)
}
