package rights

import (
	"context"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Sweep tries every write of every resource, as dry runs where there are such.
type Sweep struct {
	Resources []Resource
	Namespace string // where the samples are

	admin dynamic.Interface
}

// NewSweep creates an object of every kind that can be written, for somebody to try.
func NewSweep(ctx context.Context, admin *rest.Config, namespace string) (*Sweep, error) {
	resources, err := Resources(admin)
	if err != nil {
		return nil, err
	}
	s := &Sweep{Resources: resources, Namespace: namespace}
	if s.admin, err = dynamic.NewForConfig(admin); err != nil {
		return nil, err
	}
	return s, s.createSamples(ctx)
}

// Try makes every write as somebody, and returns the answers: nil for one that was let through. A key is like
// "update deployments.apps/scale".
func (s *Sweep) Try(ctx context.Context, somebody *rest.Config) (map[string]error, error) {
	client, err := dynamic.NewForConfig(somebody)
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(somebody)
	if err != nil {
		return nil, err
	}
	fresh, err := samples(s.Namespace, another, "203.0.113.2")
	if err != nil {
		return nil, err
	}
	answers := map[string]error{}
	for _, r := range s.Resources {
		note := func(verb string, err error) { answers[verb+" "+r.String()] = err }
		switch {
		case r.question():
		case r.connects():
			for verb, method := range map[string]string{"get": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete} {
				if slices.Contains(r.Verbs, verb) {
					note(verb, s.connect(ctx, clients, r, method))
				}
			}
		case slices.Contains(r.Verbs, "create") && r.writable():
			_, err := s.of(client, r).Create(ctx, fresh[r.GroupKind()], metav1.CreateOptions{DryRun: dryRun})
			note("create", err)
			note("delete", s.of(client, r).Delete(ctx, existing, metav1.DeleteOptions{DryRun: dryRun}))
			s.change(ctx, client, r, note)
			if slices.Contains(r.Verbs, "deletecollection") {
				ours := metav1.ListOptions{FieldSelector: "metadata.name=" + existing}
				note("deletecollection", s.of(client, r).DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun}, ours))
			}
		case slices.Contains(r.Verbs, "create"):
			_, err := s.of(client, r).Create(ctx, s.posted(r), metav1.CreateOptions{DryRun: dryRun}, r.subresource()...)
			note("create", err)
		default:
			s.change(ctx, client, r, note)
		}
	}
	return answers, nil
}

var dryRun = []string{metav1.DryRunAll}

// change puts back what is there, and patches nothing of it. Both go through admission.
func (s *Sweep) change(ctx context.Context, client dynamic.Interface, r Resource, note func(string, error)) {
	sub := r.subresource()
	if slices.Contains(r.Verbs, "update") {
		object, err := s.of(s.admin, r).Get(ctx, existing, metav1.GetOptions{}, readable(r, sub)...)
		if err == nil {
			_, err = s.of(client, r).Update(ctx, object, metav1.UpdateOptions{DryRun: dryRun}, sub...)
		}
		note("update", err)
	}
	if slices.Contains(r.Verbs, "patch") {
		_, err := s.of(client, r).Patch(ctx, existing, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dryRun}, sub...)
		note("patch", err)
	}
}

// readable is the subresource, or nothing if it can only be written.
func readable(r Resource, sub []string) []string {
	if slices.Contains(r.Verbs, "get") {
		return sub
	}
	return nil
}

// posted is what is sent to a subresource that is only for creating.
func (s *Sweep) posted(r Resource) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(r.GroupVersionKind)
	object.SetName(existing)
	object.SetNamespace(s.Namespace)
	if r.Kind == "Binding" {
		object.Object["target"] = map[string]any{"kind": "Node", "name": existing}
	}
	return object
}

// connect opens a way through the API server to something behind it.
func (s *Sweep) connect(ctx context.Context, clients kubernetes.Interface, r Resource, method string) error {
	name, sub, _ := strings.Cut(r.Name, "/")
	request := clients.CoreV1().RESTClient().Verb(method).Resource(name).Name(existing).SubResource(sub).
		Param("command", "id").Param("stdout", "true")
	if r.Namespaced {
		request = request.Namespace(s.Namespace)
	}
	return request.Do(ctx).Error()
}

func (r Resource) subresource() []string {
	if _, sub, found := strings.Cut(r.Name, "/"); found {
		return []string{sub}
	}
	return nil
}

// writable are those of which there are samples.
func (r Resource) writable() bool {
	return slices.Contains(r.Verbs, "delete") && !strings.Contains(r.Name, "/")
}

// connects reports whether a request goes through the API server, whatever its verb.
func (r Resource) connects() bool { return strings.HasSuffix(r.Kind, "Options") }

// question is what is created to be answered, and changes nothing.
func (r Resource) question() bool {
	return r.At.Group == "authentication.k8s.io" || r.At.Group == "authorization.k8s.io"
}
