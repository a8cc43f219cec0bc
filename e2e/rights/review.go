package rights

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Table says what may be done: verbs by resource, in the order of Verbs. A key is "deployments.apps/scale", or
// "leases.coordination.k8s.io mine" for what may be done to the one of that name alone, or a path, "/healthz".
type Table map[string]string

// ofEverybody has the rights that Kubernetes gives everybody: to ask about themselves.
var ofEverybody = Table{
	"selfsubjectaccessreviews.authorization.k8s.io": "create",
	"selfsubjectreviews.authentication.k8s.io":      "create",
	"selfsubjectrulesreviews.authorization.k8s.io":  "create",
}

// WithEverybody returns the rights in the tables and those of everybody.
func WithEverybody(tables ...Table) Table { return Union(append(tables, ofEverybody)...) }

// Union returns the rights of all tables. A later table replaces the entries of an earlier one.
func Union(tables ...Table) Table {
	union := Table{}
	for _, table := range tables {
		maps.Copy(union, table)
	}
	return union
}

// verbs that every resource is asked about. The last one is allowed only by a rule for everything.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "made-up"}

// virtual are resources that are nowhere but in RBAC, with the verbs that it has for them. Resources with verbs of
// their own are here, too.
var virtual = map[authorizationv1.ResourceAttributes][]string{
	{Resource: "users"}:                                                        {"impersonate"},
	{Resource: "groups"}:                                                       {"impersonate"},
	{Resource: "serviceaccounts"}:                                              {"impersonate"},
	{Group: "authentication.k8s.io", Resource: "uids"}:                         {"impersonate"},
	{Group: "authentication.k8s.io", Resource: "users"}:                        {"impersonate:user-info"},
	{Group: "authentication.k8s.io", Resource: "serviceaccounts"}:              {"impersonate:serviceaccount"},
	{Group: "authentication.k8s.io", Resource: "userextras", Subresource: "x"}: {"impersonate"},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:                    {"bind", "escalate"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:             {"bind", "escalate"},
	{Group: "certificates.k8s.io", Resource: "signers"}:                        {"approve", "sign", "attest"},
	{Group: "made-up.example", Resource: "of-tomorrow"}:                        verbs,
	{Group: "made-up.example", Resource: "of-tomorrow", Subresource: "status"}: verbs,
}

// Allowed asks the API server what somebody may do in a namespace and to cluster-scoped objects. It asks about
// every verb of every resource, and about every verb with each name in the table. The answer has only rights that
// are granted. It has no name for a right that holds for any name.
func Allowed(ctx context.Context, somebody *rest.Config, resources []Resource, namespace string, names Table) (Table, error) {
	clients, err := kubernetes.NewForConfig(somebody)
	if err != nil {
		return nil, err
	}
	var asked []question
	for _, r := range resources {
		name, sub, _ := strings.Cut(r.Name, "/")
		attributes := authorizationv1.ResourceAttributes{Group: r.At.Group, Resource: name, Subresource: sub}
		if r.Namespaced {
			attributes.Namespace = namespace
		}
		asked = append(asked, questions(r.String(), attributes, verbs)...)
		for key := range names {
			if resource, name, found := strings.Cut(key, " "); found && resource == r.String() {
				attributes.Name = name
				asked = append(asked, questions(key, attributes, verbs)...)
			}
		}
	}
	for attributes, verbs := range virtual {
		r := Resource{Name: strings.TrimSuffix(attributes.Resource+"/"+attributes.Subresource, "/")}
		r.At.Group = attributes.Group
		attributes.Namespace = namespace
		asked = append(asked, questions(r.String(), attributes, verbs)...)
	}
	if err := ask(ctx, clients, asked); err != nil {
		return nil, err
	}
	return tabulate(asked), nil
}

type question struct {
	key        string
	attributes authorizationv1.ResourceAttributes
	allowed    bool
}

func questions(key string, attributes authorizationv1.ResourceAttributes, verbs []string) []question {
	var all []question
	for _, verb := range verbs {
		attributes.Verb = verb
		all = append(all, question{key: key, attributes: attributes})
	}
	return all
}

func ask(ctx context.Context, clients kubernetes.Interface, asked []question) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range asked {
		group.Go(func() error {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked[i].attributes}}
			answer, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask for %v: %w", asked[i].attributes, err)
			}
			asked[i].allowed = answer.Status.Allowed
			return nil
		})
	}
	return group.Wait()
}

func tabulate(asked []question) Table {
	byKey := map[string][]string{}
	for _, q := range asked {
		if q.allowed {
			byKey[q.key] = append(byKey[q.key], q.attributes.Verb)
		}
	}
	table := Table{}
	for key, verbs := range byKey {
		resource, _, named := strings.Cut(key, " ")
		if named {
			verbs = slices.DeleteFunc(verbs, func(verb string) bool { return slices.Contains(byKey[resource], verb) })
		}
		if len(verbs) > 0 {
			table[key] = strings.Join(verbs, " ")
		}
	}
	return table
}

// Diff returns the differences between the answer and the expectation, line by line.
func Diff(got, want Table) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if got[key] != want[key] {
			lines = append(lines, fmt.Sprintf("%s: may %q, should %q", key, got[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if _, found := got[key]; !found {
			lines = append(lines, fmt.Sprintf("%s: may nothing, should %q", key, want[key]))
		}
	}
	return lines
}
