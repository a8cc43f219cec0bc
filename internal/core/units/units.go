// Package units reads, from files, the environment that a machine's services get: which source of a proxy's variable
// wins, and which ones have no effect. The rules are those of man systemd.exec ("Environment variables in spawned
// processes") and man systemd.unit (drop-ins). e2e/judges compares them with systemd. The package is pure: files come
// from an fs.FS.
package units

import (
	"io/fs"
	"slices"
	"strings"
)

// Source says which setting of systemd a value comes from. A later one wins, whatever the order of the files.
type Source int

// The sources, from the weakest to the strongest.
const (
	Default Source = iota // DefaultEnvironment= of the manager
	Passed                // PassEnvironment=, from ManagerEnvironment=
	Unit                  // Environment=
	File                  // EnvironmentFile=
)

// Key is how the setting is written.
func (s Source) Key() string {
	return []string{"DefaultEnvironment=", "PassEnvironment=", "Environment=", "EnvironmentFile="}[s]
}

// Place is a line of a file.
type Place struct {
	Path string
	Line int
}

// Setting gives a variable a value. The value may have a password in it.
type Setting struct {
	Name, Value string
	Specifiers  []string // of the value, for which only the machine knows what they are
	Source      Source
	Place       Place
	By          Place // with a file of variables, where a unit names it
	Order       int   // of the unit or drop-in among those of the service
}

// IsList reports whether it is a NO_PROXY, whatever the spelling.
func (s Setting) IsList() bool { return strings.HasSuffix(strings.ToUpper(s.Name), "NO_PROXY") }

// Variable is one of a proxy, of one service.
type Variable struct {
	Name     string
	Settings []Setting // the last one wins
	Unset    *Place    // which UnsetEnvironment= removes it nevertheless
}

// Wins returns the setting whose value the service gets, if it gets any.
func (v Variable) Wins() (Setting, bool) {
	if v.Unset != nil || len(v.Settings) == 0 {
		return Setting{}, false
	}
	return v.Settings[len(v.Settings)-1], true
}

// Kind says what a problem means.
type Kind int

// The kinds of problems.
const (
	Dropped    Kind = iota // systemd takes no notice of it
	Unknown                // what it sets is not known here
	Unreadable             // nor is this, since a file may not be read
	Fails                  // the service does not start
)

// Problem is a line, or a file, that has not the effect that it seems to have, or an unknown one.
type Problem struct {
	Kind   Kind
	Place  Place
	Reason string
}

// Hidden is a file that would set variables, and is not read since another file has its name.
type Hidden struct {
	Path, By  string
	Variables []string
}

// Service is a service with its variables, and where each is set.
type Service struct {
	Name      string
	Masked    string     // the file that keeps it from starting
	Variables []Variable // by name
	Problems  []Problem
	Hidden    []Hidden
}

// IsDaemon reports whether it is one that is known to pull images or to run pods.
func (s Service) IsDaemon() bool {
	return slices.Contains(daemons, strings.TrimSuffix(s.Name, ".service"))
}

var daemons = []string{
	"containerd", "cri-docker", "crio", "docker", "k0scontroller", "k0sworker", "k3s", "k3s-agent", "kubelet", "nodeadm-run", "rke2-agent", "rke2-server",
}

// Read returns the services that have variables of a proxy or are known daemons, by name; in a folder without any, those
// that drop-ins of several services are for, by a pattern. The folder is the root of a machine's files, or is as
// /etc/systemd/system is; then files that units name are looked for below it.
func Read(folder fs.FS) []Service {
	m := machine{files: rooted{folder}}
	m.whole = m.files.exists("usr/lib/systemd") || m.files.exists("lib/systemd")
	for _, dir := range folders {
		if direct, err := m.files.resolve(dir); err == nil && !slices.Contains(m.dirs, direct) {
			m.dirs = append(m.dirs, direct)
		}
	}
	if len(m.dirs) == 0 {
		m.dirs = []string{"."}
	} else {
		m.readManager()
	}
	m.readAliases()
	all := m.services(m.names())
	if len(all) == 0 {
		all = m.services(m.patterns())
	}
	return all
}

func (m machine) services(names []string) []Service {
	var all []Service
	for _, name := range names {
		s := m.service(name)
		if len(s.Variables) > 0 || len(s.Hidden) > 0 || slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Kind == Dropped }) || s.IsDaemon() {
			all = append(all, s)
		}
	}
	return all
}

// machine is where units are looked for, in the order in which one hides another of the same name.
type machine struct {
	files             rooted
	whole             bool // files that are not there are not on the machine
	dirs              []string
	aliasOf           map[string]string
	others            map[string][]string // further names, by the unit's own
	defaults, manager environment
	problems          []Problem // of the manager
}
