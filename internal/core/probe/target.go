package probe

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/noproxy"
)

// MaxTargets is how many targets a list may have: they are tried every period, by every node.
const MaxTargets = 128

// maxURL is as long as the API lets a target's URL be.
const maxURL = 512

// Destination is a target's URL, taken apart.
type Destination struct {
	Scheme string // https, http or tcp
	Host   string // a name, or an address without brackets
	Port   string
	Path   string // with the query; of http and https
}

// Address returns host:port.
func (d Destination) Address() string {
	if strings.Contains(d.Host, ":") {
		return "[" + d.Host + "]:" + d.Port
	}
	return d.Host + ":" + d.Port
}

// ParseTargets reads a list of targets as JSON or YAML. The error names each target that is wrong, its field and the reason; the
// others are returned.
func ParseTargets(text []byte) ([]Target, error) {
	var targets []Target
	if err := yaml.UnmarshalStrict(text, &targets); err != nil {
		if yaml.Unmarshal(text, &map[string]any{}) == nil {
			return nil, errors.New("it is not a list: write the list alone, without probe.targets or another key above it")
		}
		return nil, fmt.Errorf("it is not a list of url, expect and route: %w", err)
	}
	if len(targets) > MaxTargets {
		return nil, fmt.Errorf("there are %d targets: at most %d are tried", len(targets), MaxTargets)
	}
	seen := map[Target]int{}
	var right []Target
	var wrong []error
	for i, target := range targets {
		err := target.Check()
		if other, ok := seen[target]; ok && err == nil {
			err = fmt.Errorf("url: it is that of target %d, too", other)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("target %d: %w", i+1, err))
			continue
		}
		seen[target] = i + 1
		right = append(right, target)
	}
	return right, errors.Join(wrong...)
}

// Check returns an error that names the field of a target which is wrong, and why.
func (t Target) Check() error {
	if _, err := ParseURL(t.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	switch way := Route(t.Expect); {
	case way == Proxied || way == Direct:
		return fmt.Errorf("expect: it is %s or %s; the way is route: %s", Reachable, Unreachable, way)
	case t.Expect != Reachable && t.Expect != Unreachable:
		return fmt.Errorf("expect: it is %s or %s, not %q", Reachable, Unreachable, t.Expect)
	case t.Route != "" && t.Route != Proxied && t.Route != Direct:
		return fmt.Errorf("route: it is %s or %s, or not there, not %q", Proxied, Direct, t.Route)
	}
	return nil
}

// SamePlace reports whether two targets are the same host and port, whatever is expected of them.
func (t Target) SamePlace(other Target) bool {
	a, err := ParseURL(t.URL)
	b, otherErr := ParseURL(other.URL)
	return err == nil && otherErr == nil && a.Address() == b.Address()
}

// ParseURL takes a target's URL apart. The error does not repeat the URL: it may have a password in it, which it must not.
func ParseURL(text string) (Destination, error) {
	if len(text) > maxURL {
		return Destination{}, fmt.Errorf("it is longer than %d characters", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return Destination{}, errors.New("it cannot be read: write https://host, http://host or tcp://host:port")
	}
	d := Destination{Scheme: u.Scheme, Host: u.Hostname(), Port: u.Port(), Path: cmp.Or(u.RequestURI(), "/")}
	switch {
	case u.User != nil:
		return Destination{}, errors.New("it has a user or a password, which a target has not")
	case d.Scheme != "https" && d.Scheme != "http" && d.Scheme != "tcp", u.Opaque != "":
		return Destination{}, errors.New("it begins with none of https://, http:// and tcp://")
	case d.Scheme == "tcp" && d.Port == "":
		return Destination{}, errors.New("it has no port, which tcp:// needs")
	case d.Scheme == "tcp" && (u.Path != "" || u.RawQuery != ""), u.Fragment != "":
		return Destination{}, errors.New("it has something behind the port that is never sent")
	}
	if _, err := noproxy.HostEntry(d.Host); err != nil {
		return Destination{}, errors.New("its host is neither a host name nor an IP address")
	}
	d.Port = cmp.Or(d.Port, map[string]string{"https": "443", "http": "80"}[d.Scheme])
	if port, err := strconv.ParseUint(d.Port, 10, 16); err != nil || port == 0 {
		return Destination{}, errors.New("its port is not a number from 1 to 65535")
	}
	return d, nil
}
