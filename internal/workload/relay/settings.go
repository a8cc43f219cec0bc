package relay

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

// The files of the Secret fairlead-proxy that matter here. Its lower-case twins have the same values.
const (
	urlFile     = "HTTPS_PROXY"
	noProxyFile = "NO_PROXY"
	caFile      = "ca.crt"
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

// readNoProxy reads the list, which may be missing: pods from before it was projected lack it.
func readNoProxy(folder string) (string, error) {
	content, err := os.ReadFile(filepath.Join(folder, noProxyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return strings.TrimSpace(string(content)), nil
}

// roots are the certificates by which a proxy with TLS is known: those of the system, and those of the folder. A tunnel
// keeps them as long as it stands, and a company's bundle takes hundreds of kilobytes: all that read the same share them.
type roots struct {
	mutex   sync.Mutex
	content []byte // of the file; nil if there was none
	pool    *x509.CertPool
}

func (r *roots) read(folder string) (*x509.CertPool, error) {
	r.mutex.Lock() // while the file is read, too: hundreds of agents' connections come at once
	defer r.mutex.Unlock()
	file := filepath.Join(folder, caFile)
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r.pool != nil && (content == nil) == (r.content == nil) && bytes.Equal(content, r.content) {
		return r.pool, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if content != nil && !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s: there is no certificate in it", file)
	}
	r.content, r.pool = content, pool
	return pool, nil
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
