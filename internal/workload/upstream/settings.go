package upstream

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

// What a folder has: a file for each, or lines of its file SettingsFile. The keys of the Secret fairlead-proxy that are not
// here are its lower-case twins.
const (
	HTTPFile          = proxyenv.HTTP          // the proxy for http URLs; may be missing
	HTTPSFile         = proxyenv.HTTPS         // the proxy for everything else
	HTTPPreviousFile  = proxyenv.HTTPPrevious  // the same proxy with the previous credentials; may be missing
	HTTPSPreviousFile = proxyenv.HTTPSPrevious //
	NoProxyFile       = proxyenv.NoProxy       // may be missing, as it was not projected once
	KeyFile           = "FINGERPRINT_KEY"      // of the fingerprints of credentials in metrics; may be missing
	MarkFile          = "FINGERPRINT"          // that of the management cluster for the credentials; may be missing
	MarkPreviousFile  = "FINGERPRINT_PREVIOUS" // and for the previous ones
	RevisionFile      = "REVISION"             // identity of the revision that the settings are; may be missing
	CAFile            = "ca.crt"               // a file: authorities of an https:// proxy beside the system's; may be missing
	SettingsFile      = "settings"             // all but the authorities, as systemd's EnvironmentFile= reads them without quotes
)

// RevisionHeader is the header in which a relay's /readyz sends the content of its RevisionFile.
const RevisionHeader = "Fairlead-Revision"

// Settings are the settings in a folder.
type Settings struct {
	HTTP, HTTPS Proxy
	NoProxy     string
	Key         string // of fingerprints; empty: one of this process
	Revision    string // that these settings are; empty: nobody says
	// Warnings name keys that are ignored, and why. They show no value.
	Warnings []string
	// Authorities are those by which an https:// proxy is known: the system's and the folder's. A company's bundle takes
	// hundreds of kilobytes, and is read once.
	Authorities func() (*x509.CertPool, error)

	bypass func() func(*url.URL) (*url.URL, error)
	marks  map[string]string // fingerprints that came with these settings, or with earlier ones, by header
}

// Proxy is the company's proxy, or none.
type Proxy struct {
	URL     proxyurl.URL // the first of its credentials is in it, and is not printed
	Address string       // host:port
	// Credentials in the order in which they are tried; at least one, which may be none.
	Credentials []Credential

	plain      bool // a Transport's
	generation int  // of the settings that it is from: it grows when proxies or credentials change
}

// Credential is the value of Proxy-Authorization, and prints as its name.
type Credential struct {
	Name   string // "current" or "previous", for logs and metrics
	user   string
	secret *string
}

// String returns the name.
func (c Credential) String() string { return c.Name }

// GoString returns the name: %#v must not show more.
func (c Credential) GoString() string { return c.Name }

// IsZero reports that the proxy gets no credential.
func (c Credential) IsZero() bool { return c.secret == nil }

// Header returns the value of Proxy-Authorization; empty for none.
func (c Credential) Header() string {
	if c.secret == nil {
		return ""
	}
	return *c.secret
}

func parse(folder string, files map[string]string) (*Settings, error) {
	s := &Settings{NoProxy: strings.TrimSpace(files[NoProxyFile]), Key: strings.TrimSpace(files[KeyFile]), Revision: oneWord(files[RevisionFile])}
	var err error
	if s.HTTPS, err = s.parseProxy(folder, files, HTTPSFile, HTTPSPreviousFile); err != nil {
		return nil, err
	}
	if s.HTTP, err = s.parseProxy(folder, files, HTTPFile, HTTPPreviousFile); err != nil {
		return nil, err
	}
	s.mark(files)
	s.bypass = sync.OnceValue(func() func(*url.URL) (*url.URL, error) {
		const some = "http://proxy.invalid:3128" // it is about the list
		return (&httpproxy.Config{HTTPProxy: some, HTTPSProxy: some, NoProxy: s.NoProxy}).ProxyFunc()
	})
	s.Authorities = sync.OnceValues(func() (*x509.CertPool, error) {
		pool, ok := AuthoritiesWith(files[CAFile])
		if !ok {
			return nil, fmt.Errorf("%s: there is no certificate in it", filepath.Join(folder, CAFile))
		}
		return pool, nil
	})
	if s.HTTPS.URL.Scheme() == "https" || s.HTTP.URL.Scheme() == "https" { // nobody else needs them; the previous settings go on
		if _, err := s.Authorities(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// AuthoritiesWith returns the system's authorities and those of a bundle, which may be empty; false: it has no certificate.
func AuthoritiesWith(bundle string) (pool *x509.CertPool, ok bool) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	return pool, strings.TrimSpace(bundle) == "" || pool.AppendCertsFromPEM([]byte(bundle))
}

// follow numbers the settings after the previous ones: a proxy that refused their credentials is asked again once they change.
func (s *Settings) follow(previous *Settings) {
	s.HTTPS.generation, s.HTTP.generation = previous.HTTPS.generation, previous.HTTP.generation
	if !reflect.DeepEqual(s.HTTPS, previous.HTTPS) || !reflect.DeepEqual(s.HTTP, previous.HTTP) {
		s.HTTPS.generation++
		s.HTTP.generation++
	}
}

// Bypasses reports whether NO_PROXY covers a host:port, in Go's reading. The scheme is that of the URL: http or https. Without a
// list, not even localhost is covered.
func (s *Settings) Bypasses(scheme, host string) bool {
	if s.NoProxy == "" {
		return false
	}
	proxy, err := s.bypass()(&url.URL{Scheme: scheme, Host: host})
	return err == nil && proxy == nil
}

// Proxy returns the proxy for URLs of a scheme.
func (s *Settings) Proxy(scheme string) Proxy {
	if scheme == "http" {
		return s.HTTP
	}
	return s.HTTPS
}

// Direct says why the settings lead directly to host:port; empty: they lead through the proxy. Whatever is not http counts as https.
func (s *Settings) Direct(scheme, host string) string {
	if scheme != "http" {
		scheme = "https"
	}
	switch {
	case s.Proxy(scheme).URL.IsZero():
		return "no proxy is set"
	case s.Bypasses(scheme, host):
		return "NO_PROXY covers it"
	}
	return ""
}

// oneWord returns a text that may stand in a header; else nothing.
func oneWord(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ""
	}
	return text
}

// parseProxy: the previous credentials count for the same proxy alone, and the current ones do not wait for them.
func (s *Settings) parseProxy(folder string, files map[string]string, current, previous string) (Proxy, error) {
	proxy, err := parseURL(folder, files, current)
	if err != nil {
		return Proxy{}, err
	}
	last, err := parseURL(folder, files, previous)
	switch {
	case err != nil:
		s.Warnings = append(s.Warnings, err.Error())
	case last.URL.IsZero():
	case !last.URL.WithoutCredentials().Equal(proxy.URL.WithoutCredentials()):
		s.Warnings = append(s.Warnings, filepath.Join(folder, previous)+": it is not of the proxy that "+current+" names")
	case last.Credentials[0].Header() != proxy.Credentials[0].Header():
		last.Credentials[0].Name = "previous"
		proxy.Credentials = slices.Concat(proxy.Credentials, last.Credentials)
	}
	return proxy, nil
}

func parseURL(folder string, files map[string]string, name string) (proxy Proxy, err error) {
	u, err := proxyurl.Parse(files[name])
	if err == nil && !u.IsZero() {
		proxy, err = NewProxy(u)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
	}
	return proxy, err
}

// NewProxy returns the proxy of a URL, with the credentials in it.
func NewProxy(u proxyurl.URL) (Proxy, error) {
	read, err := url.Parse(u.Reveal())
	if err != nil { // net/url shows what it cannot read
		return Proxy{}, errors.New("the proxy's URL cannot be read")
	}
	current := Credential{Name: "current"}
	if read.User != nil {
		password, _ := read.User.Password()
		header := "Basic " + base64.StdEncoding.EncodeToString([]byte(read.User.Username()+":"+password))
		current.user, current.secret = read.User.Username(), &header
	}
	return Proxy{URL: u, Address: read.Host, Credentials: []Credential{current}}, nil
}
