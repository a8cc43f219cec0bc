package units

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// folders are where systemd looks for units, in the order in which one hides another of the same name.
var folders = []string{"etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}

// readAliases takes links from one unit to another, by which it has two names.
func (m *machine) readAliases() {
	m.aliasOf = map[string]string{}
	seen := map[string]bool{}
	for _, dir := range m.dirs {
		entries, _ := fs.ReadDir(m.files, dir)
		for _, e := range entries {
			name := e.Name()
			if seen[name] || !strings.HasSuffix(name, ".service") {
				continue
			}
			target := m.files.link(path.Join(dir, name))
			base, inside := path.Base(target), m.isUnitFolder(path.Dir(target))
			if target != "" && inside && base == name {
				continue // a link to the unit of its name: another folder may say more
			}
			seen[name] = true
			if target != "" && inside && strings.HasSuffix(base, ".service") {
				m.aliasOf[name] = base
			}
		}
	}
}

// isUnitFolder is for the folder of a link's target: a link to elsewhere is a unit with the name of the link.
func (m machine) isUnitFolder(folder string) bool {
	below := strings.TrimPrefix(folder, "/")
	direct, _ := m.files.resolve(below)
	return slices.Contains(folders, below) || slices.Contains(m.dirs, direct)
}

// mainOf returns the name of the unit that a service's name leads to.
func (m machine) mainOf(name string) string {
	for range 8 {
		next, ok := m.aliasOf[name]
		template, isInstance := templateOf(name)
		if !ok && isInstance {
			next, ok = m.aliasOf[template]
		}
		if !ok {
			break
		}
		if before, ofTemplate := strings.CutSuffix(next, "@.service"); ofTemplate && isInstance {
			_, instance, _ := strings.Cut(name, "@")
			next = before + "@" + instance
		}
		name = next
	}
	return name
}

// names returns the services that have a unit or a folder of drop-ins, by their main name; m.others gets their aliases. A folder
// for all services whose names begin alike, or for all of them, is no service's.
func (m *machine) names() []string {
	m.others = map[string][]string{}
	var names []string
	for _, dir := range m.dirs {
		entries, _ := fs.ReadDir(m.files, dir)
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), ".d")
			if !strings.HasSuffix(name, ".service") || strings.HasSuffix(name, "-.service") {
				continue
			}
			main := m.mainOf(name)
			names = append(names, main)
			if main != name && !slices.Contains(m.others[main], name) {
				m.others[main] = append(m.others[main], name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// patterns are for drop-ins of all services whose name begins so, and of all of them.
func (m machine) patterns() []string {
	var names []string
	for _, dir := range m.dirs {
		entries, _ := fs.ReadDir(m.files, dir)
		for _, e := range entries {
			if before, ok := strings.CutSuffix(e.Name(), "-.service.d"); ok {
				names = append(names, before+"-*.service")
			} else if e.Name() == ofAll {
				names = append(names, "*.service")
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
