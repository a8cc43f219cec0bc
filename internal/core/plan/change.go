package plan

import (
	"reflect"
	"sync"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Kind says what becomes of a cluster.
type Kind string

// The kinds.
const (
	Added   Kind = "Added"
	Removed Kind = "Removed"
	Changed Kind = "Changed"
)

// Change has the changes of a plan in one cluster.
type Change struct {
	Cluster string   `json:"cluster"` // namespace/name
	Change  Kind     `json:"change"`
	Group   int      `json:"group"`           // counted from 1
	Proxy   string   `json:"proxy,omitempty"` // the CorporateProxy that it then has
	Wave    string   `json:"wave,omitempty"`
	Paused  bool     `json:"paused,omitempty"` // nothing is written before the Cluster is unpaused
	Fields  []Field  `json:"fields"`
	Comes   []Entry  `json:"comes"`
	Goes    []Entry  `json:"goes"`
	Lists   []string `json:"lists"` // of the written lists those that differ: any, go
	Problem Problems `json:"problem,omitzero"`
	Costs   Costs    `json:"costs"`

	decisions []Decision
	unasked   int
}

// Field is a setting that changes; empty: it is not set.
type Field struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Entry is one of NO_PROXY as it is meant, and where it was written.
type Entry struct {
	Entry    string `json:"entry"`
	Layer    string `json:"layer,omitempty"`
	Object   string `json:"object,omitempty"`
	Field    string `json:"field,omitempty"`
	Audience string `json:"audience,omitempty"` // any: for pods and values alone; the list for Go keeps it
}

// Problems say why a cluster's Secrets stay as they are.
type Problems struct {
	Vanishes *Problem `json:"vanishes,omitempty"`
	Appears  *Problem `json:"appears,omitempty"`
}

// Problem is why nothing is written.
type Problem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// side is a cluster in one state, with the objects that are written for it. There are no credentials in it.
type side struct {
	cluster   *Cluster // nil: it does not exist
	effective resolve.Effective
	problem   *Problem
	objects   map[string]map[string][]byte // by role
	meaning   []byte
}

func (c *clients) change(before, after *Cluster) (Change, bool) {
	if unchanged(before, after) {
		return Change{}, false
	}
	earlier, current := sidesOf(before, after)
	change := Change{Fields: []Field{}, Comes: []Entry{}, Goes: []Entry{}, Lists: []string{}}
	change.name(before, after)
	if earlier.problem == nil || current.problem == nil || *earlier.problem != *current.problem {
		change.Problem = Problems{earlier.problem, current.problem}
	}
	if current.problem == nil { // else everything stays as it is
		change.compare(earlier, current)
	}
	change.Costs = costs(earlier, current, change)
	if change.isEmpty() {
		return Change{}, false
	}
	change.decisions, change.unasked = c.decisions(earlier, current, change)
	return change, true
}

func (c Change) isEmpty() bool {
	return c.Change == Changed && c.Problem == (Problems{}) && len(c.Fields)+len(c.Comes)+len(c.Goes)+len(c.Lists)+len(c.Costs.Secrets) == 0
}

// unchanged is quick to say of most clusters of most changes.
func unchanged(before, after *Cluster) bool {
	return before != nil && after != nil && before.Problem == nil && after.Problem == nil &&
		before.Unread == after.Unread && reflect.DeepEqual(public(before.Effective), public(after.Effective))
}

func (c *Change) name(before, after *Cluster) {
	if after == nil {
		c.Change, c.Cluster, c.Proxy = Removed, before.name(), before.Effective.Proxy
		return
	}
	c.Change, c.Cluster, c.Proxy, c.Wave, c.Paused = Changed, after.name(), after.Effective.Proxy, after.Wave, after.Paused
	if before == nil {
		c.Change = Added
	}
}

// public returns the configuration less everything that is secret.
func public(e resolve.Effective) resolve.Effective {
	e.HTTP, e.HTTPS, e.Previous = e.HTTP.WithoutCredentials(), e.HTTPS.WithoutCredentials(), resolve.Previous{}
	return e
}

// sidesOf renders both at the same time: that is most of the work.
func sidesOf(before, after *Cluster) (was, is side) {
	var both sync.WaitGroup
	both.Go(func() { was = sideOf(before) })
	is = sideOf(after)
	both.Wait()
	return was, is
}

func sideOf(c *Cluster) side {
	s := side{cluster: c}
	if c == nil {
		return s
	}
	s.effective = public(c.Effective)
	if c.Problem != nil {
		s.problem = &Problem{string(c.Problem.Reason), c.Problem.Error()}
		return s
	}
	if err := s.render(); err != nil {
		s.problem, s.objects = problemOf(err), nil
	}
	return s
}

// render fills what is written.
func (s *side) render() error {
	secrets, err := render.Secrets(s.effective)
	if err != nil {
		return err
	}
	if s.meaning, err = render.Meaning(s.effective); err != nil {
		return err
	}
	s.objects = map[string]map[string][]byte{}
	for _, secret := range secrets {
		s.objects[secret.Role()] = secret.Data
	}
	if !s.effective.ConfigMap {
		return nil
	}
	configMap, err := render.ValuesConfigMap(s.effective)
	s.objects[render.ConfigMapRole] = map[string][]byte{render.ValuesKey: []byte(configMap.Data[render.ValuesKey])}
	return err
}

func problemOf(err error) *Problem {
	if p, ok := err.(*resolve.Problem); ok { //nolint:errorlint // render returns it as it is
		return &Problem{string(p.Reason), p.Error()}
	}
	return &Problem{string(resolve.ReasonInvalidProxy), err.Error()}
}

// compare fills in what differs between two configurations. Where there was none that is known, everything comes.
func (c *Change) compare(was, is side) {
	if was.problem != nil { // what its Secrets hold is not known
		return
	}
	if c.Change == Changed {
		c.Fields = fields(was, is)
	}
	c.Comes, c.Goes = less(is.effective.Entries, was.effective.Entries), less(was.effective.Entries, is.effective.Entries)
	if was.effective.NoProxy.Any.String() != is.effective.NoProxy.Any.String() {
		c.Comes = append(c.Comes, writtenByOne(is.effective, was.effective)...)
		c.Goes = append(c.Goes, writtenByOne(was.effective, is.effective)...)
		c.Lists = append(c.Lists, string(noproxy.AudienceAny))
	}
	if was.effective.NoProxy.Go.String() != is.effective.NoProxy.Go.String() {
		c.Lists = append(c.Lists, string(noproxy.AudienceGo))
	}
}

// writtenByOne returns the entries of both configurations that only the first writes for any client, because of its form: the other
// writes them for Go alone.
func writtenByOne(e, other resolve.Effective) []Entry {
	written, forGo, lacks := spellings(e.NoProxy.Any), spellings(other.NoProxy.Go), spellings(other.NoProxy.Any)
	var all []Entry
	for _, item := range e.Entries {
		if text := item.Entry.String(); written[text] && forGo[text] && !lacks[text] {
			entry := entryOf(item)
			entry.Audience = string(noproxy.AudienceAny)
			all = append(all, entry)
		}
	}
	return all
}

func spellings(list noproxy.List) map[string]bool {
	has := make(map[string]bool, len(list))
	for _, item := range list {
		has[item.Entry.String()] = true
	}
	return has
}

// less returns the entries of a list that another has not.
func less(list, other noproxy.List) []Entry {
	has := spellings(other)
	all := []Entry{}
	for _, item := range list {
		if !has[item.Entry.String()] {
			all = append(all, entryOf(item))
		}
	}
	return all
}

func entryOf(item noproxy.Item) Entry {
	e := Entry{Entry: item.Entry.String()}
	if len(item.Sources) > 0 {
		s := item.Sources[0]
		e.Layer, e.Object, e.Field = string(s.Layer), s.Object, s.Field
	}
	return e
}

// The names of fields that more than one place knows.
const (
	fieldMode        = "mode"
	fieldCredentials = "credentials"
	fieldTrustedCA   = "trustedCA"
)

func fields(was, is side) []Field {
	all := []Field{}
	add := func(name, before, after string) {
		if before != after {
			all = append(all, Field{name, before, after})
		}
	}
	a, b := was.effective, is.effective
	add(fieldMode, string(a.Mode), string(b.Mode))
	add("proxy", a.Proxy, b.Proxy)
	add("form", string(a.Form), string(b.Form))
	add("http", text(a.HTTP), text(b.HTTP))
	add("https", text(a.HTTPS), text(b.HTTPS))
	add(fieldCredentials, was.cluster.Unread.Credentials, is.cluster.Unread.Credentials)
	add("previousCredentials", was.cluster.Unread.Previous, is.cluster.Unread.Previous)
	add(fieldTrustedCA, trustedCA(was), trustedCA(is))
	add("staticPods", string(a.Node.StaticPods), string(b.Node.StaticPods))
	add("delivery", string(a.Node.Delivery), string(b.Node.Delivery))
	add("configMap", writtenIf(was.objects[render.ConfigMapRole] != nil), writtenIf(is.objects[render.ConfigMapRole] != nil))
	before, after := was.objects[render.SystemdRole], is.objects[render.SystemdRole]
	for _, key := range namesOf(before, after) {
		_, beforeOK := before[key]
		_, afterOK := after[key]
		add("key "+key, writtenIf(beforeOK), writtenIf(afterOK))
	}
	return all
}

func text(u proxyurl.URL) string { return u.WithoutCredentials().String() }

// writtenIf returns the value of a file in the plan: written, or "" if there is none.
func writtenIf(ok bool) string {
	if ok {
		return "written"
	}
	return ""
}
