package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Revisions keeps what CorporateProxies meant: a Secret and a ConfigMap each, in the operator's namespace. The ConfigMap is
// created last, and deleted first: a revision is there while its ConfigMap is.
type Revisions struct {
	Client    client.Client // caches
	Live      client.Reader // managed fields are in no cache
	Namespace string
	Key       *Key

	mu      sync.Mutex
	created map[string]*Stored // by name; until the cache has it
	parsed  map[types.UID]*Stored
}

// Stored is a revision that is kept.
type Stored struct {
	revision.Public
	content      revision.Content
	Installation resolve.Installation
	Broken       error // its Secret is gone, or not what was recorded
}

// Means reports whether a revision has the same meaning as the settings that were read. Another text with the same
// meaning, as after a new default in a CRD, is no change.
func (s *Stored) Means(read reading) bool {
	return s.Broken == nil && (s.content.Same(read.content) || reflect.DeepEqual(s.Installation, read.Installation))
}

func (s *Stored) isBroken() bool { return s.Broken != nil }

// All returns the revisions of a CorporateProxy, by their numbers.
func (r *Revisions) All(ctx context.Context, proxy string) ([]*Stored, error) {
	every, err := r.List(ctx)
	return every[proxy], err
}

// List returns every revision, by CorporateProxy and in the order of their numbers. What it returns is shared.
func (r *Revisions) List(ctx context.Context) (map[string][]*Stored, error) {
	maps, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}
	if err := r.read(ctx, maps, secrets); err != nil {
		return nil, err
	}
	key, err := r.Key.Get(ctx)
	if err != nil {
		return nil, err
	}
	data := map[string]*corev1.Secret{}
	for i := range secrets.Items {
		data[secrets.Items[i].Name] = &secrets.Items[i]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.parsed
	r.parsed = map[types.UID]*Stored{}
	all := map[string][]*Stored{}
	for i := range maps.Items {
		m := &maps.Items[i]
		if r.created[m.Name] != nil && data[m.Name] == nil {
			continue // the cache has only one half yet
		}
		delete(r.created, m.Name)
		s := before[m.UID]
		if s == nil || s.Broken != nil || data[m.Name] == nil {
			s = parseStored(m, data[m.Name], key)
		}
		if s != nil {
			r.parsed[m.UID] = s
			all[s.Proxy] = append(all[s.Proxy], s)
		}
	}
	for _, s := range r.created {
		all[s.Proxy] = append(all[s.Proxy], s)
	}
	for _, revisions := range all {
		slices.SortFunc(revisions, func(a, b *Stored) int { return cmp.Compare(a.Number, b.Number) })
	}
	return all, nil
}

// read fills these lists of halves of revisions from the caches, in this order.
func (r *Revisions) read(ctx context.Context, halves ...client.ObjectList) error {
	for _, list := range halves {
		if err := r.Client.List(ctx, list, client.InNamespace(r.Namespace), client.HasLabels{v1alpha1.RevisionLabel}, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
	}
	return nil
}

// parseStored returns nil for a ConfigMap that is no revision. Of one that was recorded with this key, the content must be
// as it was recorded.
func parseStored(m *corev1.ConfigMap, secret *corev1.Secret, key []byte) *Stored {
	public, err := revision.ParsePublic(m.Data)
	if err != nil || revision.Name(public.Proxy, public.Number) != m.Name {
		return nil
	}
	s := &Stored{Public: public}
	if secret == nil {
		s.Broken = fmt.Errorf("Secret %s is gone", m.Name) //nolint:staticcheck // the name of a kind
		return s
	}
	if s.content, s.Broken = revision.Parse(secret.Data); s.Broken == nil {
		s.Installation, s.Broken = s.content.Installation(public.Proxy)
	}
	if digest := apply.Digest(key, s.content.Text()); s.Broken == nil && apply.SameKey(digest, s.Digest) && digest != s.Digest {
		s.Broken = fmt.Errorf("Secret %s is not what was recorded", m.Name) //nolint:staticcheck // the name of a kind
	}
	return s
}

// Find returns the revision of a record; nil: it is not known here.
func (r *Revisions) Find(ctx context.Context, record v1alpha1.ReportedRevision) (*Stored, error) {
	all, err := r.All(ctx, record.Proxy)
	return Find(all, &record), err
}

// Find returns the revision of a record, which may be nil, among those that are not broken; nil: it is not there.
func Find(all []*Stored, record *v1alpha1.ReportedRevision) *Stored {
	for _, s := range all {
		if record != nil && s.Proxy == record.Proxy && s.Number == record.Number && s.Digest == record.Digest && s.Broken == nil {
			return s
		}
	}
	return nil
}

// Record writes a new revision. Its number is higher than that of any revision that is kept or that a cluster has.
func (r *Revisions) Record(ctx context.Context, read reading, known []*Stored, recorded int64, now metav1.Time) (*Stored, error) {
	proxy := read.effective
	key, err := r.Key.Get(ctx)
	if err != nil {
		return nil, err
	}
	halves, err := r.halves(ctx)
	if err != nil {
		return nil, err
	}
	s := &Stored{Public: revision.PublicOf(proxy, read.Installation), content: read.content, Installation: read.Installation}
	s.Number, s.Since, s.Digest = max(recorded, highest(proxy.Name, known, halves))+1, now, apply.Digest(key, read.content.Text())
	credentials := Fingerprints(key, read.Installation)
	s.Credentials, s.Previous = credentials.Current, credentials.Previous
	if s.Changes, err = r.changes(ctx, proxy); err != nil {
		return nil, err
	}
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	object := metav1.ObjectMeta{
		Namespace: r.Namespace, Name: revision.Name(proxy.Name, s.Number),
		Labels: map[string]string{v1alpha1.RevisionLabel: strconv.FormatInt(s.Number, 10), render.ManagedLabel: render.Manager},
	}
	secret := &corev1.Secret{ObjectMeta: *object.DeepCopy(), Immutable: ptr.To(true), Data: read.content.Data()}
	if err := apply.Create(ctx, r.Client, secret); err != nil {
		return nil, err
	}
	configMap := &corev1.ConfigMap{ObjectMeta: object, Immutable: ptr.To(true), Data: map[string]string{revision.PublicKey: text}}
	if err := apply.Create(ctx, r.Client, configMap); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.created == nil {
		r.created = map[string]*Stored{}
	}
	r.created[configMap.Name] = s
	return s, nil
}

// highest returns the highest number of a revision of which there is a half.
func highest(proxy string, known []*Stored, halves []*corev1.Secret) (highest int64) {
	for _, s := range known {
		highest = max(highest, s.Number)
	}
	for _, secret := range halves {
		if of, number, _ := revision.ParseName(secret.Name); of == proxy {
			highest = max(highest, number)
		}
	}
	return highest
}

// halves returns the Secrets of revisions whose ConfigMap is not there, by the caches: a process ended between the two. Only
// who records revisions may ask.
func (r *Revisions) halves(ctx context.Context) ([]*corev1.Secret, error) {
	maps, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}
	if err := r.read(ctx, secrets, maps); err != nil {
		return nil, err
	}
	whole := map[string]bool{}
	for i := range maps.Items {
		whole[maps.Items[i].Name] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var halves []*corev1.Secret
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if _, _, ok := revision.ParseName(secret.Name); ok && !whole[secret.Name] && r.created[secret.Name] == nil {
			halves = append(halves, secret)
		}
	}
	return halves, nil
}

// changes says who last changed the CorporateProxy and what it names, as far as the API server notes it.
func (r *Revisions) changes(ctx context.Context, proxy *v1alpha1.CorporateProxy) ([]revision.Change, error) {
	names := []namedObject{{v1alpha1.GroupVersion.WithKind("CorporateProxy"), types.NamespacedName{Name: proxy.Name}}}
	for _, named := range inputs.Named(proxy) {
		names = append(names, namedObject{corev1.SchemeGroupVersion.WithKind(named.Kind), types.NamespacedName{Namespace: r.Namespace, Name: named.Name}})
	}
	var all []revision.Change
	for _, name := range names {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(name.kind.GroupVersion().WithKind(name.kind.Kind + "List"))
		// The operator may list, and not get.
		if err := r.Live.List(ctx, list, client.InNamespace(name.key.Namespace), client.MatchingFields{"metadata.name": name.key.Name}); err != nil {
			return nil, err
		}
		for i := range list.Items {
			all = append(all, lastChanges(name.kind.Kind+" "+name.key.Name, &list.Items[i])...)
		}
	}
	return all, nil
}

type namedObject struct {
	kind schema.GroupVersionKind
	key  types.NamespacedName
}

// lastChanges leaves out statuses, and who never changed anything since it was noted.
func lastChanges(name string, object client.Object) []revision.Change {
	latest := map[string]*metav1.Time{}
	for _, entry := range object.GetManagedFields() {
		if before, ok := latest[entry.Manager]; entry.Subresource == "" && (!ok || before.Before(entry.Time)) {
			latest[entry.Manager] = entry.Time
		}
	}
	var all []revision.Change
	for _, manager := range slices.Sorted(maps.Keys(latest)) {
		all = append(all, revision.Change{Object: name, Manager: manager, Time: latest[manager]})
	}
	return all
}

// Unneeded returns the revisions that nobody can ask for any more: all but the last five of a CorporateProxy that exists, and
// those that clusters have or had.
func Unneeded(all []*Stored, exists bool, used map[int64]bool) []*Stored {
	const kept = 5
	if exists {
		all = all[:max(len(all)-kept, 0)]
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *Stored) bool { return used[s.Number] })
}

// Forget deletes a revision. Of one that is rejected the public half stays, so that its digest is known.
func (r *Revisions) Forget(ctx context.Context, s *Stored, rejected bool) error {
	name := revision.Name(s.Proxy, s.Number)
	r.mu.Lock()
	delete(r.created, name)
	r.mu.Unlock()
	if rejected && s.isBroken() {
		return nil
	}
	if rejected {
		return r.deleteSecret(ctx, name)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}}
	if err := apply.DeleteNamed(ctx, r.Client, configMap); err != nil || s.Broken != nil {
		return err
	}
	return r.deleteSecret(ctx, name)
}

func (r *Revisions) deleteSecret(ctx context.Context, name string) error {
	return apply.DeleteNamed(ctx, r.Client, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}})
}

// ForgetHalves deletes Secrets of revisions whose ConfigMap is gone, by the API server's word: a cache may have one half
// before the other.
func (r *Revisions) ForgetHalves(ctx context.Context) error {
	halves, err := r.halves(ctx)
	for _, secret := range halves {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		found := r.Live.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingFields{"metadata.name": secret.Name})
		if found == nil && len(list.Items) == 0 {
			found = r.deleteSecret(ctx, secret.Name)
		}
		err = errors.Join(err, found)
	}
	return err
}

// Control reads what people say about the rollouts of a CorporateProxy, apart from the object itself.
func (r *Revisions) Control(ctx context.Context, proxy string) (revision.Control, error) {
	configMap, err := machinery.Get[corev1.ConfigMap](ctx, r.Client, types.NamespacedName{Namespace: r.Namespace, Name: revision.ControlName(proxy)})
	if err != nil {
		return revision.Control{}, err
	}
	control, err := revision.ParseControl(configMap)
	if err != nil {
		return control, &ControlError{err}
	}
	return control, nil
}

// ControlError says that a control ConfigMap says something impossible.
type ControlError struct{ error }
