package units

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// unitOf returns the unit of a service, the first of its name, with those that it hides; or that of its template.
func (m machine) unitOf(name string) (files []string, hidden []Hidden) {
	names := []string{name}
	if template, ok := templateOf(name); ok {
		names = append(names, template)
	}
	for _, name := range names {
		for _, dir := range m.dirs {
			file := path.Join(dir, name)
			switch {
			case !m.files.exists(file) && m.files.link(file) == "":
			case len(files) == 0:
				files = append(files, file)
			default:
				hidden = append(hidden, Hidden{Path: file, By: files[0]})
			}
		}
		if len(files) > 0 {
			break
		}
	}
	return files, hidden
}

// dropIns returns the drop-ins of a service in the order in which they are read: by name, wherever they are. Of several with one
// name there is the first: those of /etc, and of the service itself before those of its template, of names that begin so,
// of its other names, and of all services.
func (m machine) dropIns(name string) ([]string, []Hidden) {
	var folders []string
	for _, alias := range append([]string{name}, m.others[name]...) {
		for _, dir := range m.dirs {
			for _, of := range below(alias) {
				folders = append(folders, path.Join(dir, of+".d"))
			}
		}
	}
	for _, dir := range m.dirs {
		folders = append(folders, path.Join(dir, ofAll))
	}
	return m.merged(folders)
}

// ofAll has the drop-ins of every service.
const ofAll = "service.d"

// merged returns the files *.conf of folders, by name; of several with one name, the first.
func (m machine) merged(folders []string) (files []string, hidden []Hidden) {
	chosen := map[string]string{}
	for _, folder := range folders {
		entries, _ := fs.ReadDir(m.files, folder)
		for _, e := range entries {
			if file := path.Join(folder, e.Name()); !strings.HasSuffix(file, ".conf") {
				continue
			} else if by := chosen[e.Name()]; by != "" {
				hidden = append(hidden, Hidden{Path: file, By: by})
			} else {
				chosen[e.Name()] = file
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		files = append(files, chosen[name])
	}
	return files, hidden
}

// below returns the names whose drop-ins a service has, the closest first: its own, those that its name begins with, and those
// of its template.
func below(name string) []string {
	all := []string{name}
	stem := strings.TrimSuffix(name, ".service")
	for at := strings.LastIndexByte(strings.TrimSuffix(stem, "-"), '-'); at > 0; at = strings.LastIndexByte(stem[:at], '-') {
		all = append(all, stem[:at+1]+".service")
	}
	if template, ok := templateOf(name); ok {
		all = append(all, below(template)...)
	}
	return all
}

// templateOf is foo@.service for foo@bar.service.
func templateOf(name string) (string, bool) {
	before, after, ok := strings.Cut(name, "@")
	return before + "@.service", ok && after != ".service"
}

// masked returns the file that masks a service: its unit, if it is empty or links to /dev/null.
func (m machine) masked(units []string) string {
	if len(units) == 0 {
		return ""
	}
	if text, err := m.files.read(units[0]); err != nil || len(text) > 0 {
		return ""
	}
	return units[0]
}
