// Command build writes the archives of all images, for all platforms, to a folder:
//
//	cd images && go run ./build ../.cache/images
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
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
	for _, name := range images.Names {
		fmt.Fprintf(os.Stderr, "building %s, which takes minutes the first time…\n", name)
		digest, err := images.Build(ctx, images.Options{Repository: "..", Output: output, Name: name, Platforms: images.Platforms})
		if err != nil {
			return err
		}
		fmt.Printf("%s/%s.tar\t%s\n", output, name, digest)
	}
	return nil
}
