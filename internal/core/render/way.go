package render

import (
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Way is how an installation leads out, for the preflight, which tries it. The revision is the caller's to fill in.
func Way(of resolve.Installation) probe.Way {
	return probe.Way{HTTP: of.HTTP.Reveal(), HTTPS: of.HTTPS.Reveal(), TrustedCA: string(of.Node.TrustedCA)}
}
