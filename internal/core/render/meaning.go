package render

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Meaning returns what a machine is told, in a canonical text that is only good
// for comparing, and holds the password. Two configurations of one meaning need
// no machine to be replaced: the order of a list is not in it, nor in which
// further keys of the Secret the same is written, nor what a machine's relay reads
// again while it runs.
//
// The text is compared with that of earlier versions of Fairlead. What is added to
// it, leave out while it is empty: an upgrade would be a change for every fleet.
func Meaning(e resolve.Effective) ([]byte, error) {
	told := OnMachine(e)
	return json.Marshal(struct {
		HTTP, HTTPS string
		Go, Any     []string
		TrustedCA   []string
		StaticPods  resolve.StaticPods
	}{
		told.HTTP.Reveal(), told.HTTPS.Reveal(),
		spellings(e.NoProxy.Go), spellings(e.NoProxy.Any),
		set(strings.SplitAfter(string(e.Node.TrustedCA), "-----END CERTIFICATE-----\n")),
		cmp.Or(e.Node.StaticPods, resolve.StaticPodsStrip),
	})
}

func spellings(list noproxy.List) []string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = item.Entry.String()
	}
	return set(texts)
}

func set(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
