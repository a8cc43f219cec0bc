package resolve

// Past describes a cluster's earlier configurations.
type Past struct {
	Report   bool   // the cluster has a report; one without is new
	Mode     Mode   // in the report's status, which neither a move nor a backup carries; empty: nothing was written here
	HadProxy string // the note in the report's metadata, which they do carry; empty: there is none
}

// The note's values.
const (
	NoteHadProxy = "true"
	NoteNone     = "false"
)

// CountsAsProxied reports whether something may still rely on settings that were once written. A cluster that nothing
// selects may be blank only if it is known never to have had a proxy. A report that does not say so counts as one that
// had.
func (p Past) CountsAsProxied() bool {
	switch {
	case !p.Report:
		return false
	case p.Mode == ModeProxied || p.Mode == ModeDirect:
		return true
	case p.HadProxy == "":
		return p.Mode != ModeUnproxied
	}
	return p.HadProxy != NoteNone
}

// Note returns the note that must be in the metadata before a configuration of
// this mode is written; the empty mode is none.
func (p Past) Note(mode Mode) string {
	if mode == ModeProxied || mode == ModeDirect || p.CountsAsProxied() {
		return NoteHadProxy
	}
	return NoteNone
}

// Unselected returns the configuration of a cluster that no CorporateProxy selects, for which Choose returned notSelected. That
// is the error where it had a proxy. Else it is blank, once its endpoint is known, before which no machine is built, and
// the grace period is over, in which a label or a CorporateProxy may come; until then the error is a *Problem. One that is
// blank stays blank.
func Unselected(cluster Cluster, past Past, grace bool, notSelected error) (Effective, error) {
	switch {
	case past.CountsAsProxied():
		return Effective{}, notSelected
	case past.Mode == ModeUnproxied:
	case cluster.EndpointHost == "":
		return Effective{}, endpointUnknown(cluster)
	case grace:
		return Effective{}, NewProblem(ReasonNotSelectedYet, cluster.Object(), "metadata.labels",
			"no CorporateProxy selects this cluster yet; unless one does in the grace period, both Secrets are blank then")
	}
	return Unproxied(cluster), nil
}
