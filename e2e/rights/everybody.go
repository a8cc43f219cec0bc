package rights

import "maps"

// ofEverybody has the rights that Kubernetes gives everybody: to ask about
// themselves.
var ofEverybody = Table{
	"selfsubjectaccessreviews.authorization.k8s.io": "create",
	"selfsubjectreviews.authentication.k8s.io":      "create",
	"selfsubjectrulesreviews.authorization.k8s.io":  "create",
}

// WithEverybody returns the rights in the tables and those of everybody.
func WithEverybody(tables ...Table) Table { return Union(append(tables, ofEverybody)...) }

// Union returns the rights of all tables. A later table replaces the entries of an
// earlier one.
func Union(tables ...Table) Table {
	union := Table{}
	for _, table := range tables {
		maps.Copy(union, table)
	}
	return union
}
