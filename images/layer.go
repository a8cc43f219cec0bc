package images

import (
	"archive/tar"
	"bytes"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the age of every file: a layer whose files have not changed is the same layer.
var epoch = time.Unix(0, 0).UTC()

// file is one in an image, root's.
type file struct {
	name    string
	mode    int64
	content []byte
}

// layerOf is a layer with the files and the folders they are in.
func layerOf(files []file) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, folder := range foldersOf(files) {
		header := tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: epoch, Format: tar.FormatPAX}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := writeFile(w, strings.TrimPrefix(f.name, "/"), f.mode, f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching,
	)
}

func writeFile(w *tar.Writer, name string, mode int64, content []byte) error {
	header := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: epoch, Format: tar.FormatPAX}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// foldersOf returns the folders of the files, each parent before its children.
func foldersOf(files []file) []string {
	var folders []string
	for _, f := range files {
		for dir := path.Dir(strings.TrimPrefix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}
