package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// install writes this program to a path, for a machine that runs it without its image. What is there and the same stays as it
// is: a systemd.path(5) that watches it restarts the relay only for another one.
func install(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	own, err := digest(self)
	if err != nil {
		return err
	}
	if there, err := digest(path); err == nil && bytes.Equal(there, own) {
		return nil
	}
	return copyTo(path, self)
}

func digest(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hash.Sum(nil), err
}

// copyTo writes beside the path and renames: who starts the program meanwhile has the previous one.
func copyTo(path, from string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // programs are for everybody
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name()) //nolint:errcheck // it has been renamed
	_, err = io.Copy(beside, source)
	if err := errors.Join(err, beside.Chmod(0o755), beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), path)
}
