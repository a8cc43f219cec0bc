package units

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// environment has the variables that lines set, in their order.
type environment []Setting

// gathered has the settings of a service's environment from its units.
type gathered struct {
	own           environment
	files         []named
	passed, unset []word
	problems      []Problem
	order         int
}

// named is a file of variables that a unit names.
type named struct {
	path     string
	optional bool
	place    Place
	order    int
}

// word is a variable, or an assignment, that a list of a unit has.
type word struct {
	text  string
	place Place
}

func (m machine) service(name string) Service {
	var g gathered
	files, hiddenUnits := m.unitOf(name)
	masked := m.masked(files)
	dropIns, hidden := m.dropIns(name)
	files = append(files, dropIns...)
	for g.order = range files {
		g.read(m, files[g.order], name)
	}
	fromFiles := g.load(m)
	passed := g.pass(m)
	s := Service{Name: name, Masked: masked, Problems: g.problems, Hidden: m.hidden(slices.Concat(hiddenUnits, hidden), name)}
	for _, from := range []environment{m.defaults, passed, g.own, fromFiles} {
		for _, setting := range from {
			s.add(setting)
		}
	}
	s.without(g.unset)
	// What the manager gives to all services alike is told of the daemons only.
	if s.IsDaemon() {
		s.Problems = append(slices.Clone(m.problems), s.Problems...)
	} else {
		s.Variables = slices.DeleteFunc(s.Variables, Variable.ofManager)
	}
	slices.SortFunc(s.Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func (v Variable) ofManager() bool {
	return v.Unset == nil && v.Settings[len(v.Settings)-1].Source == Default
}

func (s *Service) add(setting Setting) {
	at := slices.IndexFunc(s.Variables, func(v Variable) bool { return v.Name == setting.Name })
	if at < 0 {
		at = len(s.Variables)
		s.Variables = append(s.Variables, Variable{Name: setting.Name})
	}
	s.Variables[at].Settings = append(s.Variables[at].Settings, setting)
}

// without removes what UnsetEnvironment= names: a variable, or one with this value.
func (s *Service) without(unset []word) {
	for i := range s.Variables {
		v := &s.Variables[i]
		last := v.Settings[len(v.Settings)-1]
		for _, w := range unset {
			if w.text == v.Name || w.text == v.Name+"="+last.Value {
				v.Unset = &w.place
			}
		}
	}
}

// hidden are those of hidden files that set variables of a proxy.
func (m machine) hidden(files []Hidden, name string) []Hidden {
	var all []Hidden
	for _, h := range files {
		direct, err := m.files.resolve(h.Path)
		by, _ := m.files.resolve(h.By)
		if err != nil || direct == by {
			continue
		}
		var g gathered
		g.read(m, h.Path, name)
		for _, s := range slices.Concat(g.own, g.load(m)) {
			h.Variables = append(h.Variables, s.Name)
		}
		if len(h.Variables) == 0 {
			continue
		}
		slices.Sort(h.Variables)
		h.Variables = slices.Compact(h.Variables)
		if by == null {
			h.By += ", a link to /dev/null,"
		}
		all = append(all, h)
	}
	return all
}

// readFile also says what it means that a file cannot be read.
func (m machine) readFile(file string) ([]byte, *Problem) {
	data, err := m.files.read(file)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, m.nowhere(file, Place{Path: file})
	case errors.Is(err, fs.ErrPermission):
		return nil, &Problem{Unreadable, Place{Path: file}, "may not be read: run the command as root"}
	case errors.Is(err, errLinks), errors.Is(err, errIrregular), errors.Is(err, errLarge):
		return nil, &Problem{Unreadable, Place{Path: file}, err.Error() + ": it is not read"}
	}
	return nil, &Problem{Unreadable, Place{Path: file}, "cannot be read"}
}

// nowhere returns the problem of a link to a missing file: systemd skips it.
func (m machine) nowhere(file string, at Place) *Problem {
	p := Problem{Unreadable, at, fmt.Sprintf("the link /%s leads to %s, which is not there", file, m.files.link(file))}
	if !m.whole {
		p.Kind, p.Reason = Unknown, fmt.Sprintf("the link %s leads to %s, which is not below the folder", file, m.files.link(file))
	}
	return &p
}

// read takes a unit or drop-in.
func (g *gathered) read(m machine, file, name string) {
	data, problem := m.readFile(file)
	if problem != nil {
		g.problems = append(g.problems, *problem)
	}
	data, line, reason := unitfile.UpTo(data)
	if line > 0 {
		g.problem(Place{file, line}, reason+": systemd refuses the unit, or reads no further in a drop-in")
	}
	for _, l := range unitfile.Lines(data) {
		at := Place{file, l.Number}
		switch {
		case l.Section != unitfile.Service:
			if strings.HasPrefix(l.Key, "Environment") && concerns(l.Value) {
				g.problem(at, "stands outside of [Service]: systemd ignores it")
			}
		case l.Key == "Environment":
			g.own = g.assign(g.own, l, name, Setting{Source: Unit, Place: at, Order: g.order})
		case l.Key == "EnvironmentFile":
			g.name(l.Value, name, at)
		case l.Key == "PassEnvironment":
			g.passed = g.list(g.passed, l, name, at)
		case l.Key == "UnsetEnvironment":
			g.unset = g.list(g.unset, l, name, at)
		}
	}
}

// concerns reports whether a line is about a variable of a proxy, as far as can be told of one that may be malformed.
func concerns(line string) bool { return strings.Contains(strings.ToLower(line), "_proxy") }

func (g *gathered) problem(at Place, reason string) {
	g.problems = append(g.problems, Problem{Dropped, at, reason})
}

// assign appends the assignments of a line; s has the rest of each setting. A line without a value forgets those before
// it.
func (g *gathered) assign(to environment, l unitfile.Line, unit string, s Setting) environment {
	if l.Value == "" {
		return nil
	}
	at := s.Place
	words, err := unitfile.Words(l.Value)
	if err != nil && concerns(l.Value) {
		g.problem(at, "systemd drops the rest of this line: "+err.Error())
	}
	for _, text := range words {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok && concerns(l.Value):
			g.problem(at, "systemd drops a word without =: is a quote missing?")
		case unitfile.IsProxyVariable(name):
			s.Name = name
			if s.Value, s.Specifiers, err = unitfile.Expand(value, unit); err != nil {
				g.problem(at, name+": "+err.Error()+"; it drops the variable")
				continue
			}
			// A password with a percent-encoded character.
			if _, err := unitfile.Specified(value[:strings.LastIndexByte(value, '@')+1]); err != nil && !s.IsList() {
				g.problem(at, name+": "+err.Error())
			}
			to = append(to, s)
		}
	}
	return to
}

func (g *gathered) list(to []word, l unitfile.Line, unit string, at Place) []word {
	if l.Value == "" {
		return nil
	}
	words, _ := unitfile.Words(l.Value)
	for _, text := range words {
		if name, _, _ := strings.Cut(text, "="); unitfile.IsProxyVariable(name) {
			if text, _, err := unitfile.Expand(text, unit); err == nil {
				to = append(to, word{text, at})
			}
		}
	}
	return to
}

// name takes EnvironmentFile=. An empty one forgets the files before it.
func (g *gathered) name(value, unit string, at Place) {
	if value == "" {
		g.files = nil
		return
	}
	file, optional := strings.CutPrefix(value, "-")
	file, left, err := unitfile.Expand(file, unit)
	switch {
	case err != nil:
		g.problem(at, "EnvironmentFile=: "+err.Error()+"; it ignores the file")
	case len(left) > 0:
		g.problems = append(g.problems, Problem{Unknown, at, "EnvironmentFile= has a specifier that only the machine knows: what the file sets would win"})
	case !strings.HasPrefix(file, "/"):
		g.problem(at, "EnvironmentFile= names no absolute path: systemd ignores it")
	default:
		g.files = append(g.files, named{file, optional, at, g.order})
	}
}

// load reads the files that are named, in their order.
func (g *gathered) load(m machine) environment {
	var read environment
	for _, n := range g.files {
		below := strings.TrimPrefix(path.Clean(n.path), "/")
		found, all := m.files.match(below)
		if !all {
			g.problems = append(g.problems, Problem{Unreadable, n.place, "its pattern leads through too many folders: not all files are read"})
		}
		if m.files.exists(below) { // a path, which may have characters of patterns
			found = []string{below}
		}
		if len(found) == 0 {
			g.missing(m, n)
		}
		for _, file := range found {
			data, problem := m.readFile(file)
			if problem != nil {
				problem.Reason += "; what it sets would win over every Environment="
				g.problems = append(g.problems, *problem)
			}
			for _, a := range unitfile.Assignments(data) {
				at := Place{"/" + file, a.Line}
				switch {
				case a.Name == "" && concerns(a.Raw):
					g.problem(at, "systemd drops the line: it is not NAME=VALUE"+mark(a))
				case !unitfile.IsProxyVariable(a.Name):
				case a.Exported:
					g.problem(at, "systemd drops a line with export")
				default:
					read = append(read, Setting{Name: a.Name, Value: a.Value, Source: File, Place: at, By: n.place, Order: n.order})
				}
			}
		}
	}
	return read
}

// mark says what no editor shows.
func mark(a unitfile.Assignment) string {
	if strings.HasPrefix(a.Raw, unitfile.ByteOrderMark) {
		return ", since a byte order mark is before the name"
	}
	return ""
}

// missing is about a file that is named and not there. In a folder of units alone, nobody knows whether the machine has it.
func (g *gathered) missing(m machine, n named) {
	const wins = ": what it sets, if the machine has it, wins over every Environment="
	p := Problem{Fails, n.place, "there is no " + n.path}
	below := strings.TrimPrefix(path.Clean(n.path), "/")
	if m.files.link(below) != "" {
		p = *m.nowhere(below, n.place)
	}
	switch {
	case !m.whole && p.Kind == Unknown:
		p.Reason += wins
	case !m.whole:
		p.Kind, p.Reason = Unknown, n.path+" is not below the folder"+wins
	case !n.optional:
		p.Kind = Fails
		p.Reason += ": the service does not start"
	case p.Kind == Fails:
		return
	}
	g.problems = append(g.problems, p)
}

// pass gives what PassEnvironment= takes from the manager's own environment, as far as its configuration says that.
func (g *gathered) pass(m machine) environment {
	var all environment
	for _, w := range g.passed {
		if strings.Contains(w.text, "=") {
			g.problem(w.place, "PassEnvironment= takes names alone: systemd drops what has a value")
			continue
		}
		at := slices.IndexFunc(m.manager, func(s Setting) bool { return s.Name == w.text })
		if at < 0 {
			g.problems = append(g.problems, Problem{Unknown, w.place, "PassEnvironment= takes " + w.text + " from the manager's own environment, if it has it"})
			continue
		}
		for _, s := range m.manager {
			if s.Name == w.text {
				s.Source, s.By = Passed, w.place
				all = append(all, s)
			}
		}
	}
	return all
}

// readManager takes what the manager gives to all services.
func (m *machine) readManager() {
	var files, folders []string
	for _, dir := range []string{"etc", "run", "usr/local/lib", "usr/lib", "lib"} {
		file := path.Join(dir, "systemd/system.conf")
		if m.files.exists(file) && len(files) == 0 {
			files = append(files, file)
		}
		folders = append(folders, file+".d")
	}
	var g gathered
	dropIns, _ := m.merged(folders)
	for _, file := range append(files, dropIns...) {
		data, problem := m.readFile(file)
		if problem != nil {
			g.problems = append(g.problems, *problem)
		}
		for _, l := range unitfile.Lines(data) {
			switch at := (Place{file, l.Number}); {
			case l.Section != "[Manager]":
			case l.Key == "DefaultEnvironment":
				m.defaults = g.assign(m.defaults, l, "", Setting{Source: Default, Place: at})
			case l.Key == "ManagerEnvironment":
				m.manager = g.assign(m.manager, l, "", Setting{Source: Passed, Place: at})
			}
		}
	}
	m.problems = g.problems
}
