package rights

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Sweep tries every write of every resource, as dry runs where there are such.
type Sweep struct {
	Resources []Resource
	Namespace string // where the samples are

	admin    dynamic.Interface
	existing map[string]string // names of the samples by resource
}

// NewSweep creates an object of every kind that can be written, for somebody to try.
func NewSweep(ctx context.Context, admin *rest.Config, namespace string) (*Sweep, error) {
	resources, err := Resources(admin)
	if err != nil {
		return nil, err
	}
	s := &Sweep{Resources: resources, Namespace: namespace}
	quiet := rest.CopyConfig(admin)
	quiet.WarningHandler = rest.NoWarnings{}
	if s.admin, err = dynamic.NewForConfig(quiet); err != nil {
		return nil, err
	}
	return s, s.createSamples(ctx)
}

// Write is one that was tried.
type Write struct {
	Verb     string
	Resource Resource
}

// attempt is one round of tries.
type attempt struct {
	*Sweep
	objects dynamic.Interface
	clients kubernetes.Interface
	fresh   map[schema.GroupKind]*unstructured.Unstructured
	answers map[*Write]error
}

// Try makes every write as somebody, and returns the answers: nil for one that was let through.
func (s *Sweep) Try(ctx context.Context, somebody *rest.Config) (map[*Write]error, error) {
	quiet := rest.CopyConfig(somebody)
	quiet.WarningHandler = rest.NoWarnings{}
	a := &attempt{Sweep: s, fresh: map[schema.GroupKind]*unstructured.Unstructured{}, answers: map[*Write]error{}}
	var err error
	if a.objects, err = dynamic.NewForConfig(quiet); err != nil {
		return nil, err
	}
	if a.clients, err = kubernetes.NewForConfig(quiet); err != nil {
		return nil, err
	}
	fresh, err := samples(s.Namespace, another, "203.0.113.2")
	if err != nil {
		return nil, err
	}
	for _, object := range fresh {
		a.fresh[object.GroupVersionKind().GroupKind()] = object
	}
	for _, r := range s.Resources {
		if !r.question() {
			a.try(ctx, r)
		}
	}
	return a.answers, nil
}

func (a *attempt) try(ctx context.Context, r Resource) {
	objects, name := a.of(a.objects, r), a.existing[r.main()]
	note := func(verb string, err error) { a.answers[&Write{verb, r}] = err }
	if r.Connects() {
		for verb, method := range methods {
			if slices.Contains(r.Verbs, verb) {
				note(verb, a.connect(ctx, r, method, name))
			}
		}
		return
	}
	for _, verb := range r.Verbs {
		var err error
		switch verb {
		case "create":
			body := a.fresh[r.GroupKind()]
			if !r.writable() {
				body = a.posted(r, name)
			}
			_, err = objects.Create(ctx, body, metav1.CreateOptions{DryRun: dryRun}, r.subresource()...)
		case "update":
			err = a.update(ctx, r, name)
		case "patch":
			_, err = objects.Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dryRun}, r.subresource()...)
		case "delete":
			err = objects.Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
		case "deletecollection":
			ours := metav1.ListOptions{FieldSelector: "metadata.name=" + name}
			err = objects.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun}, ours)
		default:
			continue // a read
		}
		note(verb, err)
	}
}

// update writes an object back unchanged, which goes through admission all the same.
func (a *attempt) update(ctx context.Context, r Resource, name string) error {
	var readable []string
	if slices.Contains(r.Verbs, "get") {
		readable = r.subresource()
	}
	object, err := a.of(a.admin, r).Get(ctx, name, metav1.GetOptions{}, readable...)
	if err != nil {
		return err
	}
	_, err = a.of(a.objects, r).Update(ctx, object, metav1.UpdateOptions{DryRun: dryRun}, r.subresource()...)
	return err
}

var dryRun = []string{metav1.DryRunAll}

// posted returns the object for a subresource that is only for creating.
func (a *attempt) posted(r Resource, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(r.GroupVersionKind)
	object.SetName(name)
	object.SetNamespace(a.Namespace)
	if r.Kind == "Binding" {
		object.Object["target"] = map[string]any{"kind": "Node", "name": existing}
	}
	return object
}

// connect opens a way through the API server to something behind it.
func (a *attempt) connect(ctx context.Context, r Resource, method, name string) error {
	resource, sub, _ := strings.Cut(r.Name, "/")
	request := a.clients.CoreV1().RESTClient().Verb(method).Resource(resource).Name(name).SubResource(sub).
		Param("command", "id").Param("stdout", "true")
	if r.Namespaced {
		request = request.Namespace(a.Namespace)
	}
	return request.Do(ctx).Error()
}

// methods are those by which a verb of a way through is asked for.
var methods = map[string]string{
	"get": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete,
}

// LetThrough are the writes that were not refused by an admission policy. Any other answer than that proves nothing,
// and is an error.
func LetThrough(answers map[*Write]error) (Table, error) {
	through := map[string][]string{}
	var errs []error
	for write, err := range answers {
		switch {
		case err == nil:
			through[write.Resource.String()] = append(through[write.Resource.String()], write.Verb)
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
			errs = append(errs, fmt.Errorf("%s %s: neither let through nor refused by a policy: %w", write.Verb, write.Resource, err))
		}
	}
	table := Table{}
	for resource, verbs := range through {
		slices.Sort(verbs)
		table[resource] = strings.Join(verbs, " ")
	}
	return table, errors.Join(errs...)
}

// Hindered are the answers to an administrator that are none of the resource itself: every sample is good, and
// what goes through the API server only fails because there is nothing behind it.
func Hindered(answers map[*Write]error) error {
	var errs []error
	for write, err := range answers {
		behind := write.Resource.Connects() || write.Resource.Name == "bindings" // which takes no name
		if err != nil && (!behind || strings.Contains(err.Error(), "AdmissionPolicy")) {
			errs = append(errs, fmt.Errorf("%s %s: %w", write.Verb, write.Resource, err))
		}
	}
	return errors.Join(errs...)
}

// Exempt are the writes that Kubernetes asks no policy about, so that nobody locks everybody out.
var Exempt = Table{
	"mutatingadmissionpolicies.admissionregistration.k8s.io":          "create delete deletecollection patch update",
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":    "create delete deletecollection patch update",
	"validatingadmissionpolicies.admissionregistration.k8s.io":        "create delete deletecollection patch update",
	"validatingadmissionpolicies.admissionregistration.k8s.io/status": "patch update",
	"validatingadmissionpolicybindings.admissionregistration.k8s.io":  "create delete deletecollection patch update",
}
