package rollout

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Undo is the effect of rejecting a revision.
type Undo struct {
	Reject  Revision
	Already bool // it is rejected: nothing is left to do
	Target  Revision
	Back    []Return // the newest revision first
}

// Return has clusters with a rejected revision, and the revision that they go back to.
type Return struct {
	To       int64
	Clusters []string
}

// Known returns the revisions that are stored, in the order of their numbers, with what their CorporateProxy's status and people
// say of them.
func Known(stored []revision.Public, status []v1alpha1.RevisionStatus, control revision.Control) []Revision {
	all := make([]Revision, len(stored))
	for i, p := range stored {
		all[i] = Revision{Number: p.Number, Digest: p.Digest, Rejected: slices.Contains(control.Rejected, p.Digest)}
		for _, s := range status {
			if s.Number == p.Number && s.Digest == p.Digest {
				all[i].Passed, all[i].Completed = s.Passed, s.Completed
			}
		}
	}
	slices.SortFunc(all, func(a, b Revision) int { return int(a.Number - b.Number) })
	return all
}

// UndoOf decides what it means to reject a revision; number 0 is the newest. Revisions are in the order of their numbers, rows
// need their keys and records. Whoever asks for the newest twice has asked for the same.
func UndoOf(proxy string, revisions []Revision, rows []Row, number int64) (Undo, error) {
	e := engine{Fleet: Fleet{Proxy: proxy, Revisions: slices.Clone(revisions)}}
	found := e.newest(func(r Revision) bool { return number == 0 || r.Number == number })
	switch {
	case found == nil && number != 0:
		return Undo{}, fmt.Errorf("revision %d is not kept", number)
	case found == nil:
		return Undo{}, fmt.Errorf("no revision is kept")
	}
	u := Undo{Reject: *found, Already: found.Rejected}
	for i := range e.Revisions { // what is rejected is the content, which an earlier revision may have, too
		r := &e.Revisions[i]
		r.Rejected = r.Rejected || r.Digest == found.Digest
	}
	e.target = e.newest(func(r Revision) bool { return !r.Rejected })
	if e.target == nil && !u.Already {
		return Undo{}, fmt.Errorf("revision %d is the only one that is not rejected: clusters have nothing to go back to", found.Number)
	}
	if e.target != nil {
		u.Target = *e.target
		u.Back = e.returns(rows, found.Digest)
	}
	return u, nil
}

// returns returns the clusters with this digest, and where the rollout takes them.
func (e *engine) returns(rows []Row, digest string) (all []Return) {
	for i := range rows {
		row := &rows[i]
		has := e.known(row.Record)
		if has == nil || has.Digest != digest {
			continue
		}
		goal, _ := e.goal(row)
		at := slices.IndexFunc(all, func(r Return) bool { return r.To == goal.Number })
		if at < 0 {
			at = len(all)
			all = append(all, Return{To: goal.Number})
		}
		all[at].Clusters = append(all[at].Clusters, row.Key.String())
	}
	slices.SortFunc(all, func(a, b Return) int { return int(b.To - a.To) })
	return all
}

// Refused returns the revisions that clusters are to have then, and whose credentials the proxy has refused somebody.
func (u Undo) Refused(accounts []Account, credentials []v1alpha1.CredentialsStatus) (revisions []int64) {
	to := []int64{u.Target.Number}
	for _, r := range u.Back {
		to = append(to, r.To)
	}
	for _, a := range accounts {
		refused := slices.ContainsFunc(credentials, func(c v1alpha1.CredentialsStatus) bool {
			return c.Refused && a.Current != "" && c.Fingerprint == a.Current
		})
		if refused && slices.Contains(to, a.Revision) {
			revisions = append(revisions, a.Revision)
		}
	}
	slices.Sort(revisions)
	return revisions
}
