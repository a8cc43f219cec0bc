package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fairlead-io/fairlead/images"
)

// Platforms that the command line is for.
var Platforms = []v1.Platform{
	{OS: "linux", Architecture: "amd64"},
	{OS: "linux", Architecture: "arm64"},
	{OS: "darwin", Architecture: "amd64"},
	{OS: "darwin", Architecture: "arm64"},
	{OS: "windows", Architecture: "amd64"},
	{OS: "windows", Architecture: "arm64"},
}

// CommandLine writes the archive of a platform, with the program and the licence, and its bill of materials. It returns the time of the
// commit.
func CommandLine(ctx context.Context, options Options, platform v1.Platform) (time.Time, error) {
	version, err := images.Version(options.Repository)
	if err != nil {
		return time.Time{}, err
	}
	program, err := images.BuildStandalone(ctx, options.Repository, "fairlead", version, platform)
	if err != nil {
		return time.Time{}, err
	}
	licence, err := os.ReadFile(filepath.Join(options.Repository, "LICENSE"))
	if err != nil {
		return time.Time{}, err
	}
	name := executable(platform)
	archive, err := archiveOf(platform.OS == "windows", program.Created, []file{{name, 0o755, program.Content}, {"LICENSE", 0o644, licence}})
	if err != nil {
		return time.Time{}, fmt.Errorf("archive of fairlead for %s: %w", platform, err)
	}
	if err := options.write(archiveName(version, platform), archive); err != nil {
		return time.Time{}, err
	}
	return program.Created, options.write(stem(version, platform)+".cdx.json", program.Bill)
}

func executable(platform v1.Platform) string {
	if platform.OS == "windows" {
		return "fairlead.exe"
	}
	return "fairlead"
}

func stem(version string, platform v1.Platform) string {
	return fmt.Sprintf("fairlead_%s_%s_%s", version, platform.OS, platform.Architecture)
}

func archiveName(version string, platform v1.Platform) string {
	if platform.OS == "windows" {
		return stem(version, platform) + ".zip"
	}
	return stem(version, platform) + ".tar.gz"
}

// Charts writes both charts as packages.
func Charts(ctx context.Context, options Options, created time.Time) error {
	temp, err := os.MkdirTemp("", "fairlead-charts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, chart := range []string{"fairlead", "fairlead-policies"} {
		if _, err := options.run(ctx, options.Helm, "package", "charts/"+chart, "--destination", temp); err != nil {
			return err
		}
	}
	packages, err := os.ReadDir(temp)
	if err != nil {
		return err
	}
	for _, entry := range packages {
		content, err := os.ReadFile(filepath.Join(temp, entry.Name()))
		if err != nil {
			return err
		}
		content, err = repacked(content, created)
		if err != nil {
			return fmt.Errorf("pack %s: %w", entry.Name(), err)
		}
		if err := options.write(entry.Name(), content); err != nil {
			return err
		}
	}
	return nil
}
