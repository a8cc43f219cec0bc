package rights

import "maps"

// ofEverybody is what Kubernetes lets everybody do: ask about themselves.
var ofEverybody = Table{
	"selfsubjectaccessreviews.authorization.k8s.io": "create",
	"selfsubjectreviews.authentication.k8s.io":      "create",
	"selfsubjectrulesreviews.authorization.k8s.io":  "create",
}

// WithEverybody is what tables say and what everybody may do.
func WithEverybody(tables ...Table) Table { return Union(append(tables, ofEverybody)...) }

// Union is what tables say together. A later one replaces what an earlier one says.
func Union(tables ...Table) Table {
	union := Table{}
	for _, table := range tables {
		maps.Copy(union, table)
	}
	return union
}
