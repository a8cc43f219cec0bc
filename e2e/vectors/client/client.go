// Package client holds the real clients that are measured: how each is run so
// that it asks for one URL, and which version it says it is.
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
	Package string // the Debian package that has it; empty: not from Debian
	Module  string // what the program is asked for to see whether a library is there; see Missing
	Kind    Kind

	// once is the command line of a process that asks for one URL and ends.
	once func(m Machine, url string) []string
	// driver is the command line of a process that answers many questions (see
	// driver.go), for libraries that read their environment for each request.
	driver func(m Machine) []string
	// env is added to the environment of its processes.
	env []string

	// version is the command line that prints the version, and where it stands.
	// A driver says it itself.
	version func(m Machine) []string
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

// Find returns the client of that name.
func Find(name string) (*Client, error) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], nil
		}
	}
	return nil, fmt.Errorf("no client %q", name)
}

// Missing says what is not installed, or "".
func (c *Client) Missing(ctx context.Context, m Machine) string {
	argv := []string{c.Program}
	switch {
	case c.Program == "":
		return ""
	case c.Package == "": // made by Prepare
		argv = []string{m.Cache + "/" + c.Program, "--version"}
	case c.Module != "":
		argv = append(argv, strings.Fields(c.Module)...)
	default:
		if _, err := exec.LookPath(c.Program); err != nil {
			return c.Package
		}
		return ""
	}
	if exec.CommandContext(ctx, argv[0], argv[1:]...).Run() != nil {
		return c.Package
	}
	return ""
}

// environment is what every process finds, beside what a question sets.
func (c *Client) environment(m Machine) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + m.Dir,
		"LANG=C.UTF-8",
	}
	if c.Program == node {
		env = append(env, "NODE_PATH="+m.Cache+"/node_modules", "NODE_TLS_REJECT_UNAUTHORIZED=0", "NODE_NO_WARNINGS=1")
	}
	return append(env, c.env...)
}
