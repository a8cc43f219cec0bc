// Package cutoff says who would be cut off by the NetworkPolicy of a cluster: who goes around the proxy today. It judges
// lines of the relay's access log and results of the audit's policies.
package cutoff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Row is somebody who would be cut off from something.
type Row struct {
	Namespace   string `json:"namespace"`
	Client      string `json:"client"` // Pod/NAME, or "clients of fairlead-relay"
	Destination string `json:"destination"`
	Why         string `json:"why"`
	Times       int    `json:"times,omitempty"` // in the access log
}

// Request is a line of the relay's access log.
type Request struct{ Namespace, Host, Port string }

// ParseRequest reads a line of a log, as text or JSON; false: it is none of the access log.
func ParseRequest(line string) (Request, bool) {
	if at := strings.IndexByte(line, '{'); at >= 0 && strings.Contains(line, `"msg":"access"`) { // kubectl logs --prefix has more in front
		var r struct{ Namespace, Host, Port string }
		err := json.Unmarshal([]byte(line[at:]), &r)
		return Request(r), err == nil && r.Host != ""
	}
	fields := map[string]string{}
	for field := range strings.FieldsSeq(line) { // no value that is looked at has a blank
		key, value, _ := strings.Cut(field, "=")
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		fields[key] = value
	}
	return Request{fields["namespace"], fields["host"], fields["port"]}, fields["msg"] == "access" && fields["host"] != ""
}

// judge knows what the list covers, and what the policy allows of it.
type judge struct {
	list    string
	match   *dialect.GoList
	allowed render.Allowed
	names   map[string]bool // that no policy has
}

func newJudge(e resolve.Effective, egress render.Egress) judge {
	j := judge{list: e.NoProxy.For(egress.Audience).String(), allowed: render.Directly(e, egress), names: map[string]bool{}}
	j.match = dialect.CompileGo(j.list)
	for _, name := range j.allowed.Names {
		if entry, err := noproxy.Parse(name); err == nil {
			j.names[entry.Name] = true
		}
	}
	return j
}

// Requests returns the destinations to which the settings lead directly and the policy does not let anybody.
func Requests(e resolve.Effective, egress render.Egress, requests []Request) []Row {
	j := newJudge(e, egress)
	times := map[Request]int{}
	for _, r := range requests {
		times[r]++
	}
	var rows []Row
	for r, n := range times {
		if why := j.request(r); why != "" {
			rows = append(rows, Row{Namespace: cmp.Or(r.Namespace, "-"), Client: "clients of fairlead-relay", Destination: r.Host + ":" + r.Port, Why: why, Times: n})
		}
	}
	slices.SortFunc(rows, compare)
	return rows
}

func compare(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Why, b.Why))
}

// request says why nobody reaches a destination any more; empty: everybody does.
func (j judge) request(r Request) string {
	span, _, direct := j.match.Match(r.Host, r.Port)
	if !direct || span.Empty() || j.allowed.Everything {
		return ""
	}
	text := span.Of(j.list)
	entry, err := noproxy.Parse(text)
	if addr, addrErr := netip.ParseAddr(r.Host); addrErr == nil {
		port, _ := strconv.ParseUint(r.Port, 10, 16)
		if j.allowed.Reaches(addr, uint16(port)) {
			return ""
		}
		return fmt.Sprintf("NO_PROXY has %s, and the NetworkPolicy lacks the address", text)
	}
	if err != nil || !j.names[entry.Name] {
		return "" // a name of the cluster
	}
	return fmt.Sprintf("NO_PROXY has the name %s, and a NetworkPolicy has addresses alone", text)
}

// Result is one of a PolicyReport, about a pod.
type Result struct{ Namespace, Pod, Policy, Result, Message string }

// The audit's policies: who lacks the settings, and whom they do not reach.
const (
	auditEnv       = "audit-proxy-env"
	auditUnreached = "audit-proxy-unreached"
)

const outside = "everything but the cluster and the addresses of NO_PROXY"

// Pods returns the pods that do not go through the proxy, as the audit says.
func Pods(egress render.Egress, results []Result) []Row {
	var rows []Row
	for _, r := range results {
		if r.Result != "fail" && r.Result != "warn" {
			continue
		}
		for part := range strings.SplitSeq(r.Message, "; ") {
			if around(r.Policy, part, egress.RelayNamespace != "") {
				rows = append(rows, Row{Namespace: r.Namespace, Client: "Pod/" + r.Pod, Destination: outside, Why: part})
			}
		}
	}
	slices.SortFunc(rows, compare)
	return slices.Compact(rows)
}

// around reports whether a finding of the audit means that a pod goes around the proxy; the others are about passwords and
// NO_PROXY. With the relay, who still has the proxy's own URL does, too.
func around(policy, finding string, relay bool) bool {
	switch policy {
	case auditUnreached:
		return true
	case auditEnv:
		return strings.Contains(finding, "has none of HTTP_PROXY") || relay && strings.Contains(finding, "refers to the Secret "+render.PodSecretName)
	}
	return false
}
