package inputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// userRows begins the source of a row that a user wrote; the name of its ConfigMap follows.
const userRows = "ConfigMap "

// ProviderTable adds the rows that users wrote into ConfigMaps, each key of
// their data being a list of rows. A row that cannot be read is a
// *resolve.Problem: nobody can tell which clusters it was meant for.
func ProviderTable(builtin provider.Table, users []corev1.ConfigMap) (provider.Table, error) {
	var rows []provider.Row
	for _, configMap := range users {
		object := userRows + configMap.Name
		for _, key := range sortedKeys(configMap.Data) {
			more, err := provider.Parse(object+" "+key, []byte(configMap.Data[key]))
			if err != nil {
				return builtin, resolve.NewProblem(resolve.ReasonInvalidFacts, object, "data."+key, "%v", err)
			}
			for _, row := range more {
				// An edited row counts as a new one: what was read by the old one is read again.
				row.Source += " of resourceVersion " + configMap.ResourceVersion
				rows = append(rows, row)
			}
		}
	}
	table, err := builtin.With(rows)
	if err != nil {
		return builtin, resolve.NewProblem(resolve.ReasonInvalidFacts, "ConfigMaps labelled "+v1alpha1.ProviderFactsLabel, "", "%v", err)
	}
	return table, nil
}

// FactsObject is the object of a cluster that has its provider's facts.
type FactsObject struct {
	Row  provider.Row
	Name string
}

// FindFactsObject returns the first of the infrastructure and the control-plane
// object whose row in the table has something to read: where a provider runs the
// control plane (EKS, AKS, GKE), the network stands in the latter. Without such
// a row it returns the first that is known at all, or false.
func FindFactsObject(c *clusterv1.Cluster, table provider.Table) (FactsObject, bool) {
	var found []FactsObject
	for _, ref := range references(c) {
		if row, ok := table.Row(ref.APIGroup, ref.Kind); ok {
			found = append(found, FactsObject{row, ref.Name})
		}
	}
	if len(found) == 0 {
		return FactsObject{}, false
	}
	telling := slices.IndexFunc(found, func(o FactsObject) bool { return len(o.Row.Facts) > 0 })
	return found[max(telling, 0)], true
}

func references(c *clusterv1.Cluster) []clusterv1.ContractVersionedObjectReference {
	return []clusterv1.ContractVersionedObjectReference{c.Spec.InfrastructureRef, c.Spec.ControlPlaneRef}
}

// ReportedFacts is how facts are kept in the report.
//
// It is bounded, since infrastructure objects may be a tenant's to write; what
// is left out is a problem, and no list is made without it.
func ReportedFacts(version, name string, facts provider.Facts) *v1alpha1.ReportedFacts {
	reported := &v1alpha1.ReportedFacts{Version: version, Source: facts.Source, Kind: facts.Kind, Name: name, Metadata: facts.Metadata, Domains: facts.Domains, Missing: facts.Missing}
	if more := len(facts.Values) - maxValues; more > 0 {
		reported.Problems = append(reported.Problems, fmt.Sprintf("%d of %d values", more, len(facts.Values))+leftOut)
		facts.Values = facts.Values[:maxValues]
	}
	if len(facts.Values) > 0 {
		reported.Values = map[string][]string{}
	}
	for _, value := range facts.Values {
		reported.Values[value.Fact] = append(reported.Values[value.Fact], value.Entry)
	}
	for _, problem := range facts.Problems {
		AddProblem(reported, problem.String())
	}
	return reported
}

// Facts returns the entries that the facts in a report mean.
func Facts(namespace string, reported *v1alpha1.ReportedFacts) resolve.Facts {
	if reported == nil {
		return resolve.Facts{}
	}
	object := reported.Kind + " " + namespace + "/" + reported.Name
	elements := func(field string, values []string) (all []noproxy.Element) {
		for _, value := range values {
			all = append(all, noproxy.Element{Text: value, Source: noproxy.Source{Layer: noproxy.LayerProvider, Object: object, Field: field}})
		}
		return all
	}
	facts := resolve.Facts{
		Object: object, Missing: reported.Missing,
		Known: append(elements("metadata service", reported.Metadata), elements("domains", reported.Domains)...),
	}
	for _, problem := range reported.Problems {
		if strings.HasSuffix(problem, leftOut) {
			facts.Refused = problem
		}
	}
	for _, fact := range sortedKeys(reported.Values) {
		facts.Read = append(facts.Read, elements("fact "+fact, reported.Values[fact])...)
	}
	return facts
}

// Unread is why the object that has a cluster's facts could not be read; the zero value: it was read.
type Unread struct {
	Reason  string // of the condition FactsUnread
	Problem string
}

// NextFacts returns the facts that a report has after an attempt to read their object, and the message of the condition
// FactsUnread, if the attempt failed. kept is what the report had; found is what the row and the object gave, or the row
// alone if the object could not be read.
//
// A failed attempt takes no fact away: what was read before stays. If nothing was read before, nothing is written until the
// missing facts are there. Of an object that does not exist yet, all facts of its row are missing: a list without them
// would change soon, and machines with it. An object that the operator may not or cannot read may stay so for ever: only
// its required facts are missing.
func NextFacts(kept, found *v1alpha1.ReportedFacts, row provider.Row, unread Unread) (facts *v1alpha1.ReportedFacts, message string) {
	if unread.Reason == "" {
		return found, ""
	}
	message = found.Kind + " " + found.Name + ": " + unread.Problem
	if WasRead(kept, FactsObject{row, found.Name}) {
		return kept, message + "; the facts that were read before stay"
	}
	AddProblem(found, unreadPrefix(found)+unread.Problem)
	if unread.Reason == v1alpha1.ReasonObjectNotFound {
		found.Missing = nil
		for _, fact := range row.Facts {
			found.Missing = append(found.Missing, fact.Name)
		}
	}
	if len(found.Missing) > 0 {
		return found, message + "; nothing new is written without them: " + strings.Join(found.Missing, ", ")
	}
	return found, message + "; the list is made without its facts"
}

// RowMissing returns the reason RowMissing if kept was read by a row in a user's ConfigMap, that ConfigMap is not among
// users, and no other ConfigMap has a row for the kind; else the zero value. It is zero, too, if the cluster has another
// object now. now is the row by which the facts would be read today, if there is one. The facts stay meanwhile: the
// ConfigMap may be back soon, or only lack its label.
func RowMissing(kept *v1alpha1.ReportedFacts, now provider.Row, c *clusterv1.Cluster, users []corev1.ConfigMap) Unread {
	if kept == nil || !slices.ContainsFunc(references(c), func(ref clusterv1.ContractVersionedObjectReference) bool {
		return ref.Kind == kept.Kind && ref.Name == kept.Name
	}) {
		return Unread{}
	}
	rest, theirs := strings.CutPrefix(kept.Source, userRows)
	name, _, _ := strings.Cut(rest, " ")
	if !theirs || now.Kind == kept.Kind && strings.HasPrefix(now.Source, userRows) || slices.ContainsFunc(users, func(c corev1.ConfigMap) bool { return c.Name == name }) {
		return Unread{}
	}
	return Unread{v1alpha1.ReasonRowMissing, fmt.Sprintf("%s %s: ConfigMap %s with the row of this kind does not exist, or lacks the label %s; what was read before stays, and what is missing is waited for",
		kept.Kind, kept.Name, name, v1alpha1.ProviderFactsLabel)}
}

// HasAll reports whether facts have all that others have.
func HasAll(facts, others *v1alpha1.ReportedFacts) bool {
	all := func(facts *v1alpha1.ReportedFacts) []string {
		return slices.Concat(facts.Metadata, facts.Domains, slices.Concat(slices.Collect(maps.Values(facts.Values))...))
	}
	has := all(facts)
	return len(facts.Missing) == 0 && !slices.ContainsFunc(all(others), func(value string) bool { return !slices.Contains(has, value) })
}

// WasRead reports whether the facts, which may be nil, were read from this object. Facts from its row alone have a
// problem beside them.
func WasRead(facts *v1alpha1.ReportedFacts, from FactsObject) bool {
	return facts != nil && facts.Kind == from.Row.Kind && facts.Name == from.Name &&
		!slices.ContainsFunc(facts.Problems, func(problem string) bool { return strings.HasPrefix(problem, unreadPrefix(facts)) })
}

func unreadPrefix(facts *v1alpha1.ReportedFacts) string { return facts.Kind + ": " }

// AddProblem adds a problem unless there are too many already.
func AddProblem(reported *v1alpha1.ReportedFacts, problem string) {
	if len(reported.Problems) < maxProblems {
		reported.Problems = append(reported.Problems, problem)
	}
}

// leftOut ends the problem of facts that are more than a report takes.
const leftOut = " are left out of the report"

// Unparsable says which values of the object are no networks, addresses or domains, and so are not in the list.
func Unparsable(facts *v1alpha1.ReportedFacts) Unread {
	var problems []string
	for _, problem := range facts.Problems {
		if !strings.HasSuffix(problem, leftOut) {
			problems = append(problems, problem)
		}
	}
	if len(problems) == 0 {
		return Unread{}
	}
	return Unread{v1alpha1.ReasonUnparsable, fmt.Sprintf("%s %s: %s; the list is made without", facts.Kind, facts.Name, strings.Join(problems, "; "))}
}

// The bounds of the report's facts; problems is also bounded by its MaxItems.
const (
	maxProblems = 20
	maxValues   = 200
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
