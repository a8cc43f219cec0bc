package main

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// company stands in for the company's proxy and for the internet behind it: it knows accounts, and answers every request
// itself. The end-to-end tests have squid.
type company struct {
	*http.Server
	address string

	mutex    sync.Mutex
	accounts map[string]string // passwords
	served   map[string]int    // requests by user
}

func startCompany() (*company, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &company{address: listener.Addr().String(), accounts: map[string]string{}, served: map[string]int{}}
	c.Server = &http.Server{Handler: c}
	go func() { _ = c.Serve(listener) }()
	return c, nil
}

// Stop ends it.
func (c *company) Stop() error { return c.Close() }

// allow sets the accounts, and forgets any other.
func (c *company) allow(accounts map[string]string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.accounts = accounts
}

// count returns the requests of a user.
func (c *company) count(user string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.served[user]
}

func (c *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	encoded, _ := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	decoded, _ := base64.StdEncoding.DecodeString(encoded)
	user, password, _ := strings.Cut(string(decoded), ":")
	c.mutex.Lock()
	known, found := c.accounts[user]
	fine := found && known == password
	if fine {
		c.served[user]++
	}
	c.mutex.Unlock()
	if !fine {
		w.Header().Set("Proxy-Authenticate", `Basic realm="corp"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	_, _ = io.WriteString(w, "the internet\n")
}
