// Package lab is a network with nothing in it but a client and those who watch
// it: three proxies, a server that plays every target, and a name server. It
// lives in a network namespace of its own, in which every address there is leads
// back to this machine; nothing can leave it.
//
// A lab belongs to its process (see Isolate) and goes with it.
package lab

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/e2e/authority"
)

// Contact is a connection that a client made.
type Contact struct {
	Address netip.AddrPort // what the client connected to
	// Proxy is "proxy A", "proxy B" or "proxy v6"; empty for everything else.
	Proxy string
	// How describes the client's request to a proxy, such as "CONNECT
	// auth=user:pw".
	How string
}

// Lab is the network of this process.
type Lab struct {
	certificate tls.Certificate // of nobody: clients are told not to verify

	listeners []*listener
	listening map[int]bool

	mu       sync.Mutex // guards what follows
	contacts []Contact
	sniffing int // connections that have not said yet what they want
}

// usual are the ports that clients fall back to.
var usual = []int{80, 443, 1080, 3128, 3129, 8080, 8443}

// Start makes the network; dir is for its files. Isolate was called before.
func Start(dir string) (*Lab, error) {
	if err := routeEverythingHere(); err != nil {
		return nil, err
	}
	if err := nameService(dir); err != nil {
		return nil, err
	}
	nobody, err := authority.New("nobody")
	if err != nil {
		return nil, err
	}
	certificate, key, err := nobody.Issue("localhost")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	l := &Lab{certificate: pair, listening: map[int]bool{}}
	return l, l.listen(usual...)
}

var number = regexp.MustCompile(`[0-9]+`)

// Expect makes the lab answer on every port that is named in a text, such as a URL.
func (l *Lab) Expect(text string) error {
	for _, digits := range number.FindAllString(text, -1) {
		if port, err := strconv.Atoi(digits); err == nil && port > 0 && port < 1<<16 {
			if err := l.listen(port); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Lab) listen(ports ...int) error {
	for _, port := range ports {
		if l.listening[port] {
			continue
		}
		l.listening[port] = true
		for family, address := range everybody(port) {
			one, err := listen(family, address)
			if err != nil {
				return err
			}
			l.listeners = append(l.listeners, one)
			go l.accept(one)
		}
	}
	return nil
}

func (l *Lab) accept(from *listener) {
	for {
		conn, err := l.take(from)
		if err != nil {
			return
		}
		go l.serve(conn)
	}
}

// heard notes what a connection wants.
func (l *Lab) heard(contact Contact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sniffing--
	if !slices.Contains(l.contacts, contact) { // else it is a retry
		l.contacts = append(l.contacts, contact)
	}
}

// left is heard for a connection that ended without a word.
func (l *Lab) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sniffing--
}

// patience is how long a connection may keep the lab waiting.
const patience = 5 * time.Second

// Contacts returns whom the client has contacted since the last call, in the
// order in which it spoke. The client has finished: a connection that it made is
// at least in the queue of a listener.
func (l *Lab) Contacts() ([]Contact, error) {
	deadline := time.Now().Add(2 * patience)
	for !l.quiet() {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("a connection is open that says nothing")
		}
		time.Sleep(time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	contacts := l.contacts
	l.contacts = nil
	return contacts, nil
}

// quiet reports whether every connection has been heard.
func (l *Lab) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sniffing == 0 && !slices.ContainsFunc(l.listeners, (*listener).queued)
}
