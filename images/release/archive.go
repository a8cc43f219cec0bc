package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"time"
)

// file is one in an archive.
type file struct {
	name    string
	mode    int64
	content []byte
}

// archiveOf is a .tar.gz, or a .zip for Windows. The time is the commit's: the same files are the same archive.
func archiveOf(windows bool, created time.Time, files []file) ([]byte, error) {
	if windows {
		return zipOf(created, files)
	}
	return tarOf(created, files)
}

func tarOf(created time.Time, files []file) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return out.Bytes(), err
}

func zipOf(created time.Time, files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: created})
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// repacked sets the times of all files in a .tar.gz to one: helm package writes the current time.
func repacked(archive []byte, created time.Time) ([]byte, error) {
	uncompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	var files []file
	for r := tar.NewReader(uncompressed); ; {
		header, err := r.Next()
		if err == io.EOF { //nolint:errorlint // Next returns it as it is
			return tarOf(created, files)
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: header.Name, mode: header.Mode, content: content})
	}
}
