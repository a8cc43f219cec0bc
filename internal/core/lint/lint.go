package lint

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Input is a list and its surroundings, to be judged.
type Input struct {
	Entries      noproxy.List           // what is meant
	Any          string                 // how it is written for any client
	Spelled      map[string]string      // spellings in Any that are not the canonical one, by that
	Refusals     []Finding              // what could not be read, found by Read, and what is said of where the list comes from
	Empty        bool                   // a list as somebody wrote it, with nothing in it
	Off          bool                   // neither proxy is set, and that is known
	All          bool                   // ALL_PROXY is set
	Except       []string               // who goes through a proxy although it is Off
	Hidden       bool                   // nothing else may be said of the list: user information is in it
	Omitted      noproxy.List           // meant, but not in Any
	Left         noproxy.List           // in Any without what many clients need beside it, for the budget
	HTTP, HTTPS  proxyurl.URL           // zero: not set, or not known
	Form         resolve.Form           // in which values are written; empty: nobody knows
	Cluster      *resolve.Cluster       // nil: no cluster is involved
	Facts        bool                   // what the provider tells of the cluster is in the list
	Told         []noproxy.Element      // what the provider tells of the cluster, beside a list as it stands
	API          ProviderAddress        // what makes the machines; the zero value: not known
	Alone        bool                   // nothing adds to the list what a cluster needs
	Certificates []cabundle.Certificate // what machines are to trust
	Now          int64                  // seconds since 1970; 0: nobody asks about dates
	Ends         []End                  // what ends, or has ended
	Audience     noproxy.Audience       // who reads the list: AudienceGo for Go alone, as on machines; else every client
	Today        bool                   // ask clients as of their newest behaviour only, which takes a fifth of the time
}

// Effective returns the input for what a cluster's Secrets say.
func Effective(e resolve.Effective, cluster resolve.Cluster) Input {
	in := Input{Entries: e.Entries, Any: e.NoProxy.Any.String(), HTTP: e.HTTP, HTTPS: e.HTTPS, Form: e.Form, Cluster: &cluster, Certificates: e.Node.Certificates}
	if e.Form != resolve.FormExact {
		in.Facts = true
		writing := noproxy.Write(e.Entries, noproxy.AudienceAny, e.Form.Version())
		in.Omitted, in.Left = writing.Omitted, writing.Left
	}
	return in
}

// Run returns everything that is found, the worst first. Nothing in it shows a
// credential.
func Run(in Input) []Finding {
	ofClients := slices.Concat(Proxy(in), Portability(in))
	if in.Audience == noproxy.AudienceGo {
		ofClients = ofGo(ofClients)
	}
	return Sorted(append(Structure(in), ofClients...))
}

// unproxied reports whether nobody whom the list is for goes through a proxy.
func (in Input) unproxied() bool { return in.Off && (!in.All || in.Audience == noproxy.AudienceGo) }

// Structure returns the findings about the list itself, the worst first.
func Structure(in Input) []Finding {
	if in.Hidden {
		return Sorted(slices.Clone(in.Refusals))
	}
	var lacks []Finding
	if !in.unproxied() { // nothing is missing where no proxy is
		lacks = slices.Concat(missing(in), alone(in), nodes(in), providerAPI(in))
	}
	return Sorted(slices.Concat(in.Refusals, empty(in), lacks, broad(in), shadowed(in), portLike(in), omitted(in), TooLong(in.Any), Ending(in)))
}

// Proxy returns the findings about the URLs and certificates, the worst first.
func Proxy(in Input) []Finding {
	return Sorted(append(proxy(in), certificates(in)...))
}
