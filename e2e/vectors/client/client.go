// Package client has the real clients that are measured: how each is run so that
// it asks for one URL, and how its version is read.
package client

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Client is a program or library that is measured.
type Client struct {
	Name    string // as in the table
	Program string // what must be installed
	Package string // the Debian packages that have it
	Kind    Kind

	// once is the command line of a process that asks for one URL and ends.
	once []string
	// driver is the command line of a process that answers many questions (see
	// driver.go), for libraries that read their environment for each request.
	driver []string
	// env is added to the environment of its processes.
	env []string
	// module is the Go program that it is, if Build makes it.
	module module
	// probe is arguments with which the program fails if its library is not there.
	probe []string

	// version is the command line that prints the version, and where it stands:
	// the first number of --version, if not set. A driver says it itself; in a
	// module's program it is read.
	version []string
	pattern *regexp.Regexp
}

// Kind says which questions a client is asked.
type Kind int

// The kinds.
const (
	Everything Kind = iota
	ListsOnly       // it reads the list; the proxy variables are read by something else
	Java            // it reads properties, and has questions of its own
)

// Machine says where things are.
type Machine struct {
	Dir   string // for files of this measurement; the drivers are in it
	Cache string // what Prepare has made
	Self  string // the running program, which plays the Go client
}

// fill puts a machine's places into a text.
func (m Machine) fill(text string) string {
	return strings.NewReplacer("{dir}", m.Dir, "{cache}", m.Cache, "{self}", m.Self).Replace(text)
}

// command makes a command line of a template.
func (m Machine) command(template []string, url string) []string {
	argv := make([]string, len(template))
	for i, text := range template {
		argv[i] = strings.Replace(m.fill(text), "{url}", url, 1)
	}
	return argv
}

// Find returns the client of that name.
func Find(name string) (*Client, error) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], nil
		}
	}
	return nil, fmt.Errorf("no client %q", name)
}

// Missing says which packages to install for the client, or "".
func (c *Client) Missing(ctx context.Context) string {
	switch {
	case c.Program == "" || c.Program == node: // this program, or from Prepare or Build
		return ""
	case c.probe == nil:
		if _, err := exec.LookPath(c.Program); err != nil {
			return c.Package
		}
	case exec.CommandContext(ctx, c.Program, c.probe...).Run() != nil:
		return c.Package
	}
	return ""
}

// environment returns the variables that every process gets, beside those of a
// question.
func (c *Client) environment(m Machine) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + m.Dir,
		"LANG=C.UTF-8",
	}
	if c.Program == node {
		env = append(env, m.fill("NODE_PATH={cache}/node_modules"), "NODE_TLS_REJECT_UNAUTHORIZED=0", "NODE_NO_WARNINGS=1")
	}
	return append(env, c.env...)
}
