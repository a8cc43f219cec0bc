package units

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// unitOf is the unit of a service: the first of its name, or of its template.
func (m machine) unitOf(name string) (file string, found bool) {
	names := []string{name}
	if template, is := templateOf(name); is {
		names = append(names, template)
	}
	for _, name := range names {
		for _, dir := range m.dirs {
			if exists(m.files, path.Join(dir, name)) {
				return path.Join(dir, name), true
			}
		}
	}
	return "", false
}

// dropIns are the drop-ins of a service in the order in which they are read: by name, wherever they are. Of several with one
// name there is the first: those of /etc, and of the service itself before those of its template, of names that begin so,
// and of all services.
func (m machine) dropIns(name string) []string {
	var folders []string
	for _, dir := range m.dirs {
		for _, of := range below(name) {
			folders = append(folders, path.Join(dir, of+".d"))
		}
	}
	for _, dir := range m.dirs {
		folders = append(folders, path.Join(dir, "service.d"))
	}
	return m.merged(folders, "")
}

// merged are the files *.conf of folders, by name; of several with one name, the first. ahead goes before them.
func (m machine) merged(folders []string, ahead string) []string {
	chosen := map[string]string{}
	var names []string
	for _, folder := range folders {
		entries, _ := fs.ReadDir(m.files, folder)
		for _, e := range entries {
			if _, taken := chosen[e.Name()]; !taken && strings.HasSuffix(e.Name(), ".conf") {
				chosen[e.Name()] = path.Join(folder, e.Name())
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	var files []string
	if ahead != "" {
		files = append(files, ahead)
	}
	for _, name := range names {
		files = append(files, chosen[name])
	}
	return files
}

// below are the names whose drop-ins a service has, the closest first: its own, those that its name begins with, and those
// of its template.
func below(name string) []string {
	all := []string{name}
	stem := strings.TrimSuffix(name, ".service")
	for at := strings.LastIndexByte(strings.TrimSuffix(stem, "-"), '-'); at > 0; at = strings.LastIndexByte(stem[:at], '-') {
		all = append(all, stem[:at+1]+".service")
	}
	if template, is := templateOf(name); is {
		all = append(all, below(template)...)
	}
	return all
}

// templateOf is foo@.service for foo@bar.service.
func templateOf(name string) (string, bool) {
	before, after, found := strings.Cut(name, "@")
	return before + "@.service", found && after != ".service"
}
