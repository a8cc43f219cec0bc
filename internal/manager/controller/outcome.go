package controller

import (
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Everything here is pure: what is due, before it is written, and what the answers mean, after.

// target is an object to write.
type target struct {
	client.Object
	role    string
	shared  bool // the Cluster owns it, too
	excused bool // the collector may have changed its owners, or an earlier write was not recorded: no rival did
}

// targets are the Secrets, and the ConfigMap if there is to be one.
func (d decision) targets(owner *v1alpha1.ProxyReport) []target {
	var all []target
	for _, secret := range d.secrets {
		all = append(all, target{Object: apply.Object(secret, owner), role: secret.Role()})
	}
	if d.configMap != nil {
		all = append(all, target{Object: apply.ConfigMap(*d.configMap, owner), role: render.ConfigMapRole})
	}
	return all
}

// attempt is the writing of one object.
type attempt struct {
	target
	last        v1alpha1.SecretRecord
	fingerprint string
	due         bool
	answer      apply.Answer // where it is not due, what would be answered
	err         error
}

// writes are the attempts to carry a decision out.
type writes struct {
	attempts []attempt
	digest   string   // of what machines are told
	all      bool     // nothing is left out
	exists   []string // what was to be created blank, so that nothing was attempted
	failed   error    // why nothing was attempted
}

// due compares what is to be there with what was written last.
func due(key []byte, s state, d decision, deleted bool) writes {
	w := writes{digest: apply.Digest(key, d.meaning), all: true}
	everything := reapplyRequested(&s) || s.paced || deleted || s.doubt.open
	newKey := d.status.Nodes != nil && !apply.SameKey(d.status.Nodes.HMAC, w.digest)
	for _, object := range d.targets(s.report) {
		a := attempt{target: object, last: recordOf(d.status, object.role), fingerprint: apply.Fingerprint(key, object.Object)}
		a.answer = unchanged(a.last)
		a.due = everything || changed(a.last, a.fingerprint)
		if a.due {
			a.excused = deleted || s.doubt.open
			if a.shared = sharedOwnership(s.cluster, a.last, newKey); a.shared {
				a.Object = apply.Share(a.Object, s.cluster)
			}
		}
		w.all = w.all && a.due
		w.attempts = append(w.attempts, a)
	}
	return w
}

// overwrite reports whether something that is there gets other content.
func (w writes) overwrite() bool {
	return slices.ContainsFunc(w.attempts, func(a attempt) bool { return a.last.UID != "" && changed(a.last, a.fingerprint) })
}

// result is what became of an attempt, as the metric says it.
func (a attempt) result() string {
	var exists *apply.ExistsError
	var taken *apply.TakenError
	var refused *apply.RefusedError
	switch {
	case errors.As(a.err, &exists):
		return writeKept
	case errors.As(a.err, &taken):
		return writeTaken
	case errors.As(a.err, &refused):
		return writeRefused
	case a.err != nil:
		return writeFailed
	case changed(a.last, a.fingerprint):
		return writeWritten
	case a.record().Reverts > 0:
		return writeMended
	}
	return writeUnchanged
}

// record is what the report remembers of an attempt that succeeded.
func (a attempt) record() v1alpha1.SecretRecord {
	return nextRecord(a.last, a.target, a.fingerprint, a.answer)
}

// outcome is what the attempts amount to.
type outcome struct {
	taken, refused  []string // messages
	created, mended []string // what was not there, and what somebody had changed
	exists          []string // what was to be created blank, and stays as it is
	overwritten     bool     // something that is there has another content
	retry           error
}

func (w writes) outcome() outcome {
	out := outcome{exists: w.exists, retry: w.failed}
	for _, a := range w.attempts {
		if !a.due {
			continue
		}
		switch a.result() {
		case writeKept:
			out.exists = append(out.exists, apply.Title(a))
		case writeTaken:
			out.taken = append(out.taken, a.err.Error())
		case writeRefused:
			out.refused = append(out.refused, a.err.Error())
		case writeFailed:
			out.retry = errors.Join(out.retry, a.err)
		case writeMended:
			out.mended = append(out.mended, apply.Title(a))
		case writeWritten: // a change of what is there has one event for the whole fleet
			if a.last.UID != "" {
				out.overwritten = true
			} else {
				out.created = append(out.created, apply.Title(a))
			}
		}
	}
	return out
}

// recordIn notes in a status what is known of each object now.
func (w writes) recordIn(status *v1alpha1.ProxyReportStatus, doubtNodes bool) {
	for _, a := range w.attempts {
		switch {
		case !a.due:
		case a.err == nil:
			setRecord(status, a.record())
		case a.result() == writeTaken:
			dropRecord(status, a.role) // so that it stays due
		case a.result() != writeKept && a.last.Name != "": // it may have been written all the same; also a ConfigMap that nobody asks for any more
			a.last.HMAC = "" // so that it stays due
			setRecord(status, a.last)
		}
		if a.role == render.SystemdRole && a.err == nil {
			status.Nodes = nextNodes(status.Nodes, a, doubtNodes, w.digest)
		}
	}
}
