// Command make writes files of a release to a folder:
//
//	cd images && go run ./release/make -helm=helm manifests ../dist
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fairlead-io/fairlead/images/release"
)

// made are the targets.
var made = map[string]func(context.Context, release.Options) error{
	"manifests": release.WriteManifests,
	"release":   release.All,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	helm := flag.String("helm", "helm", "the program")
	images := flag.String("images", "../.cache/images", "the folder with the images")
	flag.Parse()
	target := made[flag.Arg(0)]
	if target == nil || flag.NArg() != 2 {
		return errors.New("say what to make, and the folder for it")
	}
	output, err := filepath.Abs(flag.Arg(1))
	if err != nil {
		return err
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	if err := target(ctx, release.Options{Repository: repository, Output: output, Helm: *helm, Images: *images}); err != nil {
		return err
	}
	fmt.Println(output)
	return nil
}
