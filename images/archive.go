package images

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// writeArchive writes an OCI image layout with the index, in one tar file. What is there is whole: it is renamed.
func writeArchive(archive, temp string, index v1.ImageIndex, repository, tag string) error {
	dir := filepath.Join(temp, "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag,                    // image-spec, annotations.md
		"io.containerd.image.name":          repository + ":" + tag, // what ctr images import calls it
	}))
	if err != nil {
		return err
	}
	whole := filepath.Join(temp, "archive")
	if err := pack(dir, whole); err != nil {
		return err
	}
	return os.Rename(whole, archive)
}

// pack writes the files of a folder, in the order of their names.
func pack(dir, archive string) error {
	out, err := os.OpenFile(archive, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return writeFile(w, name, 0o644, content)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
