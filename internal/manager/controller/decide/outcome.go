package decide

import (
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// The results of a write, as the label "result".
const (
	writeWritten   = "written"   // new content
	writeUnchanged = "unchanged" // applied again, nothing had to change
	writeMended    = "mended"    // applied again, somebody had changed it
	writeTaken     = "taken"
	writeKept      = "kept" // it was to be created blank, and exists
	writeRefused   = "refused"
	writeFailed    = "failed"
)

// Everything here is pure: which writes are due, and what the answers mean.

// target is an object to write.
type target struct {
	client.Object
	Role    string
	shared  bool // the Cluster owns it, too
	excused bool // the collector may have changed its owners, or an earlier write was not recorded: no rival did
}

// targets returns the Secrets, and the ConfigMap if there is to be one.
func (d Decision) targets(owner *v1alpha1.ProxyReport) []target {
	var all []target
	for _, secret := range d.Secrets {
		all = append(all, target{Object: apply.Object(secret, owner), Role: secret.Role()})
	}
	if d.configMap != nil {
		all = append(all, target{Object: apply.ConfigMap(*d.configMap, owner), Role: render.ConfigMapRole})
	}
	return all
}

// Attempt is the writing of one object.
type Attempt struct {
	target
	Last        v1alpha1.SecretRecord
	fingerprint string
	Due         bool
	Answer      apply.Answer // where it is not due, what would be answered
	Err         error
}

// Writes are the attempts to carry a decision out.
type Writes struct {
	Attempts []Attempt
	Digest   string   // of the settings of machines
	All      bool     // nothing is left out
	Exists   []string // objects that exist and were to be created blank; nothing was attempted then
	Failed   error    // why nothing was attempted
}

// Due compares the objects of the decision with the ones written last.
func Due(key []byte, s State, d Decision, deleted bool) Writes {
	w := Writes{Digest: apply.Digest(key, d.meaning), All: true}
	everything := ReapplyRequested(&s) || s.Paced || deleted || s.InDoubt.Secrets
	newKey := d.Status.Nodes != nil && !apply.SameKey(d.Status.Nodes.HMAC, w.Digest)
	for _, object := range d.targets(s.Report) {
		a := Attempt{target: object, Last: RecordOf(d.Status, object.Role), fingerprint: apply.Fingerprint(key, object.Object)}
		a.Answer = unchanged(a.Last)
		a.Due = everything || changed(a.Last, a.fingerprint)
		if a.Due {
			a.excused = deleted || s.InDoubt.Secrets
			if a.shared = sharedOwnership(s.Cluster, a.Last, newKey); a.shared {
				a.Object = apply.Share(a.Object, s.Cluster)
			}
		}
		w.All = w.All && a.Due
		w.Attempts = append(w.Attempts, a)
	}
	return w
}

// Overwrite reports whether something that is there gets other content.
func (w Writes) Overwrite() bool {
	return slices.ContainsFunc(w.Attempts, func(a Attempt) bool { return a.Last.UID != "" && changed(a.Last, a.fingerprint) })
}

// Result returns what became of an attempt, as the metric says it.
func (a Attempt) Result() string {
	var exists *apply.ExistsError
	var taken *apply.TakenError
	var refused *apply.RefusedError
	switch {
	case errors.As(a.Err, &exists):
		return writeKept
	case errors.As(a.Err, &taken):
		return writeTaken
	case errors.As(a.Err, &refused):
		return writeRefused
	case a.Err != nil:
		return writeFailed
	case changed(a.Last, a.fingerprint):
		return writeWritten
	case a.record().Reverts > 0:
		return writeMended
	}
	return writeUnchanged
}

// record returns what the report remembers of an attempt that succeeded.
func (a Attempt) record() v1alpha1.SecretRecord {
	return nextRecord(a.Last, a.target, a.fingerprint, a.Answer)
}

// Outcome sums up the attempts.
type Outcome struct {
	Taken, Refused  []string // messages
	Created, Mended []string // what was not there, and what somebody had changed
	Exists          []string // what was to be created blank, and stays as it is
	Overwritten     bool     // something that is there has another content
	Retry           error
}

// Outcome returns what the attempts amount to.
func (w Writes) Outcome() Outcome {
	out := Outcome{Exists: w.Exists, Retry: w.Failed}
	for _, a := range w.Attempts {
		if !a.Due {
			continue
		}
		switch a.Result() {
		case writeKept:
			out.Exists = append(out.Exists, apply.Title(a))
		case writeTaken:
			out.Taken = append(out.Taken, a.Err.Error())
		case writeRefused:
			out.Refused = append(out.Refused, a.Err.Error())
		case writeFailed:
			out.Retry = errors.Join(out.Retry, a.Err)
		case writeMended:
			out.Mended = append(out.Mended, apply.Title(a))
		case writeWritten: // a change of what is there has one event for the whole fleet
			if a.Last.UID != "" {
				out.Overwritten = true
			} else {
				out.Created = append(out.Created, apply.Title(a))
			}
		}
	}
	return out
}

// recordIn notes in a status how each object is now.
func (w Writes) recordIn(status *v1alpha1.ProxyReportStatus, doubtNodes bool) {
	for _, a := range w.Attempts {
		switch {
		case !a.Due:
		case a.Err == nil:
			setRecord(status, a.record())
		case a.Result() == writeTaken:
			dropRecord(status, a.Role) // so that it stays due
		case a.Result() != writeKept && a.Last.Name != "": // it may have been written all the same; also a ConfigMap that nobody asks for any more
			a.Last.HMAC = "" // so that it stays due
			setRecord(status, a.Last)
		}
		if a.Role == render.SystemdRole && a.Err == nil {
			status.Nodes = nextNodes(status.Nodes, a, doubtNodes, w.Digest)
		}
	}
}
