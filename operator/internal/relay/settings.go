package relay

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/operator/proxyurl"
)

// The files of the Secret fairlead-proxy that matter here. Its lower-case twins have the same values.
const (
	urlFile = "HTTPS_PROXY"
	caFile  = "ca.crt"
)

// readProxy reads the proxy's URL from a folder in which the Secret is mounted. No URL means that there is no proxy. The
// error names the file, and nothing of what is in it but its shape.
func readProxy(folder string) (proxyurl.URL, error) {
	content, err := os.ReadFile(filepath.Join(folder, urlFile))
	if err != nil {
		return proxyurl.URL{}, err
	}
	u, err := proxyurl.Parse(string(content))
	if err != nil {
		return proxyurl.URL{}, fmt.Errorf("%s: %w", filepath.Join(folder, urlFile), err)
	}
	return u, nil
}

// readRoots returns the certificates by which a proxy with TLS is known: those of the system, and those of the folder.
func readRoots(folder string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	file := filepath.Join(folder, caFile)
	content, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return roots, nil
	case err != nil:
		return nil, err
	case !roots.AppendCertsFromPEM(content):
		return nil, fmt.Errorf("%s: there is no certificate in it", file)
	}
	return roots, nil
}

// secrets are what a URL says beside its scheme and host: the address to dial, and the value of Proxy-Authorization,
// empty without credentials.
func secrets(u proxyurl.URL) (address, authorization string, err error) {
	read, err := url.Parse(u.Reveal())
	if err != nil { // net/url shows what it cannot read
		return "", "", errors.New("the proxy's URL cannot be read")
	}
	if read.User != nil {
		password, _ := read.User.Password()
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(read.User.Username()+":"+password))
	}
	return read.Host, authorization, nil
}
