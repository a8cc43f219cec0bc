// Command affected runs the tests that a change touches. These are the unit tests of packages that import a changed
// one, and the end-to-end tests that run it, by the table of this package. The change is the difference from -base,
// committed or not.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

func main() {
	base := flag.String("base", "origin/main", "the commit that the change is compared with")
	list := flag.Bool("list", false, "list the packages, and run nothing")
	flag.Parse()
	if err := run(*base, *list); err != nil {
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(1)
	}
}

func run(base string, list bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	changed, err := changedFiles(ctx, base)
	if err != nil {
		return err
	}
	var all []packages
	for _, module := range []string{"", "images", "e2e"} {
		found, err := modulePackages(ctx, module)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	unit, e2e := decide(changed, all)
	fmt.Printf("%d files differ from %s\nunit tests: %s\nend-to-end tests: %s\n", len(changed), base, strings.Join(unit, " "), strings.Join(e2e, " "))
	if list {
		return nil
	}
	return errors.Join(runUnit(ctx, unit), runE2E(ctx, e2e))
}

// changedFiles are those that git knows or would add.
func changedFiles(ctx context.Context, base string) ([]string, error) {
	differ, err := output(ctx, "", "git", "diff", "--name-only", "--merge-base", base)
	if err != nil {
		return nil, err
	}
	added, err := output(ctx, "", "git", "ls-files", "--others", "--exclude-standard")
	return strings.Fields(string(differ) + string(added)), err
}

// modulePackages asks go list for what the packages of a module and their tests are made from.
func modulePackages(ctx context.Context, module string) ([]packages, error) {
	listed, err := output(ctx, module, "go", "list", "-test", "-json=ImportPath,Dir,Deps,ForTest", "./...")
	if err != nil {
		return nil, err
	}
	type found struct {
		ImportPath, Dir, ForTest string
		Deps                     []string
	}
	byFolder := map[string]*packages{}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p found
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		folder, err := filepath.Rel(repository.Path(), p.Dir)
		if err != nil {
			return nil, err
		}
		of := byFolder[folder]
		if of == nil {
			of = &packages{folder: folder}
			byFolder[folder] = of
		}
		of.tested = of.tested || strings.HasSuffix(p.ImportPath, ".test")
		for _, dependency := range p.Deps {
			dependency, _, _ = strings.Cut(dependency, " ") // compiled for a test
			if rest, ours := strings.CutPrefix(dependency, "github.com/fairlead-io/fairlead/"); ours {
				of.from = append(of.from, rest)
			}
		}
	}
	all := make([]packages, 0, len(byFolder))
	for _, p := range byFolder {
		all = append(all, *p)
	}
	return all, nil
}

func runUnit(ctx context.Context, folders []string) error {
	var errs []error
	for _, module := range []string{"", "images"} {
		args := []string{"test", "-vet=off", "-ldflags=-w"}
		for _, folder := range folders {
			if strings.HasPrefix(folder+"/", "images/") == (module == "images") {
				args = append(args, "."+strings.TrimPrefix("/"+folder, "/"+module))
			}
		}
		if len(args) > 3 {
			errs = append(errs, show(ctx, module, "go", args...))
		}
	}
	return errors.Join(errs...)
}

func runE2E(ctx context.Context, folders []string) error {
	if len(folders) == 0 {
		return nil
	}
	names := slices.Clone(folders)
	for i, folder := range names {
		names[i] = "./" + strings.TrimPrefix(folder, "e2e/")
	}
	return show(ctx, "", "make", "e2e", "PACKAGES="+strings.Join(names, " "))
}

func output(ctx context.Context, module, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = repository.Path(module), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}

func show(ctx context.Context, module, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository.Path(module), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}
