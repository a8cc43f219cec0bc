package render

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// Meaning returns what a machine is told, in a canonical text that is only good
// for comparing, and holds the password. Two configurations of one meaning need
// no machine to be replaced: the order of a list is not in it, nor in which
// further keys of the Secret the same is written.
func Meaning(e resolve.Effective) ([]byte, error) {
	return json.Marshal(struct {
		HTTP, HTTPS string
		Go, Any     []string
		TrustedCA   []byte
		StaticPods  resolve.StaticPods
	}{
		e.HTTP.Reveal(), e.HTTPS.Reveal(),
		set(e.NoProxy.Go), set(e.NoProxy.Any),
		e.Node.TrustedCA, e.Node.StaticPods,
	})
}

// set returns the spellings of a list, sorted and each once.
func set(list noproxy.List) []string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = item.Entry.String()
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
