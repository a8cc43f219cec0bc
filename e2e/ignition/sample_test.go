package ignition_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/samples"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/noproxy"
)

// sample is one of the generated ones, for one of the systems.
type sample struct {
	samples.Sample
	variant ignition.Variant
}

// allSamples also have a unit of an unknown program, which gets another list, and their text in place of a
// certificate.
func allSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for i, s := range samples.All(t) {
		own := sample{s, []ignition.Variant{ignition.Flatcar, ignition.FedoraCoreOS}[i%2]}
		if i > 0 { // the first list is the longest there may be
			more := noproxy.Entry{Kind: noproxy.Domain, Name: "any.example"}
			own.Effective.NoProxy.Any = append(noproxy.List{{Entry: more}}, s.Effective.NoProxy.Any...)
		}
		own.Effective.Node.Units = []string{"crio.service"}
		own.Effective.Node.TrustedCA = []byte("PEM " + s.List + "\n")
		all = append(all, own)
	}
	return all
}
