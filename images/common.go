package images

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities is where Go, and most others, look for the system's (crypto/x509/root_linux.go). A company mounts its own
// there, or names it in a ca.crt.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
	group  = "root:x:0:\nnonroot:x:65532:\n"
)

// commonFiles are in every image.
func commonFiles() ([]file, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	return []file{
		{name: "/etc/passwd", mode: 0o644, content: []byte(passwd)},
		{name: "/etc/group", mode: 0o644, content: []byte(group)},
		{name: authorities, mode: 0o644, content: roots},
	}, nil
}

// resolution has Go's resolver ask DNS alone: the pod's /etc/hosts leads the name of a hub to the relay, which must find the
// hub itself. For other names it reads that file on its own.
const resolution = "hosts: dns\n"

// ownFiles returns the files of one image.
func ownFiles(p program) []file {
	files := []file{{name: folder + "/" + p.name, mode: 0o755, content: p.content}}
	if p.name == "fairlead-relay" {
		files = append(files, file{name: "/etc/nsswitch.conf", mode: 0o644, content: []byte(resolution)})
	}
	return files
}

// certificates are Mozilla's authorities in the version that go.mod says, so that they are no accident of the machine.
// Those that Mozilla trusts under a condition only are left out: a file of certificates cannot say it.
func certificates() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("write a certificate authority: %w", err)
		}
	}
	return out.Bytes(), nil
}
