package noproxy

// Audience says who reads a list. One string cannot be best for all: what Go
// reads exactly, others do not read at all, and some break on it.
type Audience string

// The audiences: every client there is (pods, charts, login shells), and Go
// programs alone (containerd, kubelet and whatever else runs on a node).
const (
	AudienceAny Audience = "any"
	AudienceGo  Audience = "go"
)

// Lists is one configuration's list, written for each audience.
type Lists struct{ Any, Go List }

// For returns the list for an audience.
func (l Lists) For(audience Audience) List {
	if audience == AudienceGo {
		return l.Go
	}
	return l.Any
}
