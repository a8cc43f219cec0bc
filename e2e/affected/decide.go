package main

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A packages value is one package: its folder, and the folders of all packages that it or its tests are made from.
type packages struct {
	folder string // from the root of the repository
	tested bool
	from   []string
}

// decide returns the folders of the packages with tests that the changed files touch, those of e2e apart.
func decide(changed []string, all []packages) (unit, e2e []string) {
	folders, touched := map[string]bool{}, map[string]bool{}
	for _, file := range changed {
		folders[owner(file, all)] = true
		for _, name := range rowOf(file).packages {
			touched[path.Join("e2e", name)] = true
		}
	}
	for _, p := range all {
		if folders[p.folder] || slices.ContainsFunc(p.from, func(folder string) bool { return folders[folder] }) {
			touched[p.folder] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(touched)) {
		switch {
		case !slices.ContainsFunc(all, func(p packages) bool { return p.folder == folder && p.tested }):
		case strings.HasPrefix(folder, "e2e/"):
			e2e = append(e2e, folder)
		default:
			unit = append(unit, folder)
		}
	}
	return unit, e2e
}

// owner is the folder of the package that a file belongs to: a package's data is below it.
func owner(file string, all []packages) string {
	for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
		if slices.ContainsFunc(all, func(p packages) bool { return p.folder == folder }) {
			return folder
		}
	}
	return ""
}

// rowOf is the row of the longest path.
func rowOf(file string) row {
	var found row
	for _, r := range table {
		if len(r.path) > len(found.path) && (file == r.path || strings.HasPrefix(file, r.path+"/")) {
			found = r
		}
	}
	return found
}
