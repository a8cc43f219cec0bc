// Package settings reads CorporateProxies and what they name, and keeps what they meant as revisions.
package settings

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// quietTime is for a source of two objects, the URL in the CorporateProxy and the credentials in a Secret. Both must have
// stayed as they are for so long before they are read: between two updates the old password would go to the new host.
// It helps where both come in one go, and no further.
const quietTime = 5 * time.Second

// Installations reads each CorporateProxy once per state of it and of the objects that it names, rather than once per
// cluster.
type Installations struct {
	Client    client.Reader // caches
	Namespace string        // the operator's own
	Parses    int           // how often something was parsed, for tests

	Ends Clock

	mu sync.Mutex
	by map[string]*source
}

// source remembers how one CorporateProxy, with what it refers to, was last read.
type source struct {
	seen  string    // the state of URL and credentials that was seen last
	since time.Time // when it was seen first
	read  reading   // what was read last, in a state that stayed as it was for long enough
}

// reading is a CorporateProxy as it was read in one state; the version is empty if it was never read.
type reading struct {
	Version      string
	source       string // the state of URL and credentials
	Installation resolve.Installation
	effective    *v1alpha1.CorporateProxy // without what had ended
	content      revision.Content         // with spec.rollout
	Incomplete   string                   // why the objects do not belong to one change, by the annotation fairlead.io/change
	Err          error
	NextEnd      time.Time // when the next entry ends; zero: none does
}

// UnsettledError says that a source is being changed, and when to ask again.
type UnsettledError struct{ Wait time.Duration }

// Error implements error.
func (e *UnsettledError) Error() string {
	return fmt.Sprintf("the objects of the source are changing; they are read in %s", e.Wait)
}

// Get returns a CorporateProxy as it was read. The error is a *resolve.Problem, an *unsettledError where the source
// is changing and was never read before, or comes from the caches. While a source changes, its last settled state is
// returned. The version changes whenever the installation does.
func (i *Installations) Get(ctx context.Context, proxy *v1alpha1.CorporateProxy, now time.Time) (reading, error) {
	read, err := i.Settled(ctx, proxy, now)
	if err == nil {
		err = read.Err
	}
	return read, err
}

// Settled returns what get does; a *resolve.Problem is in it.
func (i *Installations) Settled(ctx context.Context, proxy *v1alpha1.CorporateProxy, now time.Time) (reading, error) {
	ended, nextEnd := inputs.Ended(proxy.Spec.NoProxy, i.Ends.At(proxy.Name, now))
	objects, version, err := i.objects(ctx, proxy, ended)
	if err != nil {
		return reading{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.by == nil {
		i.by = map[string]*source{}
	}
	known := i.by[proxy.Name]
	if known == nil {
		known = &source{}
		i.by[proxy.Name] = known
	}
	source := sourceOf(proxy, objects)
	if known.seen != source {
		known.seen, known.since = source, now
	}
	if wait := known.since.Add(quiet(proxy)).Sub(now); wait > 0 && known.read.source != source {
		if known.read.Version == "" {
			return reading{}, &UnsettledError{wait}
		}
		return known.read.until(nextEnd), nil
	}
	if known.read.Version != version {
		i.Parses++
		known.read = reading{Version: version, source: source, Incomplete: disagreement(proxy, objects)}
		get := func(ref inputs.Reference) (map[string][]byte, error) { return DataOf(objects[ref]), nil }
		effective := inputs.Without(proxy, ended)
		known.read.effective = effective
		known.read.Installation, known.read.Err = inputs.Installation(effective, get)
		if known.read.Err == nil && proxy.Spec.Rollout != nil {
			known.read.content, known.read.Err = revision.Of(effective, get)
		}
	}
	return known.read.until(nextEnd), nil
}

func (r reading) until(nextEnd time.Time) reading {
	r.NextEnd = nextEnd
	return r
}

// sourceOf returns a text that changes with URL and credentials. Whatever else changes in a CorporateProxy, however
// often, does not put off the reading of these.
func sourceOf(proxy *v1alpha1.CorporateProxy, objects map[inputs.Reference]client.Object) string {
	url := proxy.Spec.Source.URL
	if url == nil || url.CredentialsRef == nil {
		return "one object"
	}
	text := fmt.Sprint(url.HTTP, " ", url.HTTPS, " ", url.CredentialsRef.Name)
	if secret := objects[inputs.Reference{Kind: inputs.KindSecret, Name: url.CredentialsRef.Name}]; secret != nil {
		data := DataOf(secret)
		for _, key := range slices.Sorted(maps.Keys(data)) {
			text += fmt.Sprintf(" %s@%x", key, maphash.Bytes(sourceSeed, data[key]))
		}
	}
	return text
}

var sourceSeed = maphash.MakeSeed()

// quiet returns how long the source of a CorporateProxy must have stayed as it is.
func quiet(proxy *v1alpha1.CorporateProxy) time.Duration {
	if url := proxy.Spec.Source.URL; url != nil && url.CredentialsRef != nil {
		return quietTime
	}
	return 0
}

// Settles returns after how long a source that is changing may be read; 0 if it is not changing.
func (i *Installations) Settles(proxy *v1alpha1.CorporateProxy, now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.by[proxy.Name]
	if known == nil || known.read.source == known.seen {
		return 0
	}
	return max(known.since.Add(quiet(proxy)).Sub(now), time.Millisecond)
}

// Forget is for a CorporateProxy that is gone.
func (i *Installations) Forget(proxy string) {
	i.Ends.forget(proxy)
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.by, proxy)
}

// objects returns what a CorporateProxy names, and a text that changes with it, with each of them, and when another entry has
// ended.
func (i *Installations) objects(ctx context.Context, proxy *v1alpha1.CorporateProxy, ended []int) (map[inputs.Reference]client.Object, string, error) {
	objects := map[inputs.Reference]client.Object{}
	version := &strings.Builder{}
	fmt.Fprintf(version, "%s/%d%s", proxy.UID, proxy.Generation, proxy.Annotations[v1alpha1.ChangeAnnotation])
	if len(ended) > 0 {
		fmt.Fprintf(version, " ended %v", ended)
	}
	for _, ref := range inputs.References(proxy) {
		var object client.Object = &corev1.Secret{}
		if ref.Kind == inputs.KindConfigMap {
			object = &corev1.ConfigMap{}
		}
		err := i.Client.Get(ctx, types.NamespacedName{Namespace: i.Namespace, Name: ref.Name}, object, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, "", err
		}
		if err == nil {
			objects[ref] = object
		}
		fmt.Fprintf(version, " %s@%s", ref, object.GetResourceVersion())
	}
	return objects, version.String(), nil
}

// disagreement says which objects belong to different changes, if they do; an object without the annotation belongs to
// none.
func disagreement(proxy *v1alpha1.CorporateProxy, objects map[inputs.Reference]client.Object) string {
	names := map[string][]string{}
	add := func(name string, object client.Object) {
		change := object.GetAnnotations()[v1alpha1.ChangeAnnotation]
		names[change] = append(names[change], name)
	}
	add("CorporateProxy "+proxy.Name, proxy)
	for ref, object := range objects {
		add(ref.String(), object)
	}
	if len(names) < 2 {
		return ""
	}
	var parts []string
	for change, all := range names {
		slices.Sort(all)
		parts = append(parts, fmt.Sprintf("%q on %s", change, strings.Join(all, ", ")))
	}
	slices.Sort(parts)
	return "the annotation " + v1alpha1.ChangeAnnotation + " is " + strings.Join(parts, ", and ") + "; a revision is recorded once it is the same on all"
}

// DataOf returns the data of a Secret or a ConfigMap, nil for none.
func DataOf(object client.Object) map[string][]byte {
	switch object := object.(type) {
	case *corev1.Secret:
		return inputs.SecretData(object)
	case *corev1.ConfigMap:
		return inputs.ConfigMapData(object)
	}
	return nil
}

// Reference is how a CorporateProxy names an object.
func Reference(o client.Object) inputs.Reference {
	if _, ok := o.(*corev1.ConfigMap); ok {
		return inputs.Reference{Kind: inputs.KindConfigMap, Name: o.GetName()}
	}
	return inputs.Reference{Kind: inputs.KindSecret, Name: o.GetName()}
}
