package tunnel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/selection"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Through says how a tunnel leaves.
type Through string

// The ways.
const (
	Proxy   Through = "Proxy"   // through the proxy, by itself
	Relay   Through = "Relay"   // through the proxy, by fairlead-relay
	Direct  Through = "Direct"  // past the proxy
	Fails   Through = "Fails"   // to a proxy, in a way that cannot work
	Unknown Through = "Unknown" // that is decided by what nobody has shown
)

// Input is a pod to judge, with the objects that it refers to.
type Input struct {
	Object      string // for people, such as "Deployment shop/frpc"
	Pod         Pod
	Read        []Finding // by ReadPod
	Families    []Family
	Objects     Objects          // of the pod's namespace
	Policies    []Policy         // NetworkPolicies of its namespace
	IdleTimeout int              // seconds after which the proxy cuts a silent connection
	Probes      map[string]Probe // by hub, of those that somebody has asked for
}

// Report is the result for a pod.
type Report struct {
	Object     string    `json:"object"`
	Containers []Verdict `json:"containers"`
	Findings   []Finding `json:"findings"` // about the pod as a whole
}

// Verdict is the result for a container.
type Verdict struct {
	Container string    `json:"container"`
	Agent     string    `json:"agent,omitempty"`   // which; empty if it is none, and then there is nothing else
	Family    string    `json:"family,omitempty"`  // of fairlead-policies
	Version   string    `json:"version,omitempty"` // by the image's tag
	Hub       string    `json:"hub,omitempty"`
	Through   Through   `json:"through,omitempty"`
	Setting   string    `json:"setting,omitempty"` // what decides
	Proxy     string    `json:"proxy,omitempty"`   // without credentials
	Findings  []Finding `json:"findings"`
}

// HasAgent tells whether a container is one.
func (r Report) HasAgent() bool {
	return slices.ContainsFunc(r.Containers, func(v Verdict) bool { return v.Agent != "" })
}

// Judge says of each container whether it is an agent, and how its tunnel leaves.
func Judge(in Input) Report {
	report := Report{Object: in.Object, Findings: slices.Clone(in.Read)}
	for _, c := range in.Pod.Containers() {
		report.Containers = append(report.Containers, in.judge(c))
	}
	m := in.Pod.Metadata
	switch {
	case !report.HasAgent():
		report.Findings = append(report.Findings, Finding{
			Code: NoAgent, Severity: lint.Error,
			Why:  "no container is the agent of a reverse tunnel that Fairlead knows, by what it runs or by the labels and names of tunnels.families",
			Mend: "add a family to tunnels.families of the chart fairlead-policies, if one is",
		})
	case m.Labels[selection.Key] == selection.Exclude || m.Annotations[selection.Key] == selection.Exclude:
		report.Findings = append(report.Findings, Finding{Code: Excluded, Severity: lint.Info, Why: selection.Key + "=exclude: the policies leave the pod alone"})
	}
	lint.Sorted(report.Findings)
	return report
}

// setting is a variable or a flag that tells an agent its proxy.
type setting struct {
	name  string
	where string // name and source, for people
	variable
}

// judge looks at one container.
type judge struct {
	in         Input
	container  Container
	env        environment
	line       line
	family     *Family // nil if it is of none
	program    *program
	hub        hub
	configured *setting // by arguments or a file, which come before the environment
	protocol   string   // of frpc
	verdict    Verdict
}

func (j *judge) say(code Code, severity lint.Severity, why, mend string) {
	j.verdict.Findings = append(j.verdict.Findings, Finding{Code: code, Severity: severity, Why: why, Mend: mend})
}

func (in Input) judge(c Container) Verdict {
	j := judge{in: in, container: c, env: readEnvironment(c, in.Objects), verdict: Verdict{Container: c.Name, Findings: []Finding{}}}
	v := &j.verdict
	j.line = commandLine(c, j.env)
	if i := slices.IndexFunc(in.Families, func(f Family) bool { return f.selects(in.Pod, c.Name) }); i >= 0 {
		j.family = &in.Families[i]
	}
	j.program = recognize(c, j.line, j.family)
	if j.program == nil || c.Name == RelayName {
		return *v
	}
	for name, value := range j.line.exported {
		j.env.variables[name] = variable{value: value, source: "the shell's script"}
	}
	v.Agent, v.Version = j.program.name, j.version()
	if j.family != nil {
		v.Family = j.family.Name
	}
	if j.line.shell {
		j.say(Shell, lint.Info, "a shell starts it: what is said here of its arguments and variables is a guess", "")
	}
	var where string
	if j.hub, where = j.program.hub(&j); strings.Contains(j.hub.String(), "$(") {
		j.hub, where = hub{}, j.hub.String()+", of which a variable is not known"
	}
	if where != "" {
		j.say(HubUnknown, lint.Info, "where it dials stands in "+where+": not looked at are its port, NO_PROXY and hostAliases", "")
	}
	j.hub.host = j.hub.host[strings.LastIndexByte(j.hub.host, '@')+1:]
	v.Hub = j.hub.String()
	switch j.program.way { // how the tunnel leaves
	case byEnvironment:
		j.byEnvironment()
	case byHTTPProxy:
		j.byHTTPProxy()
	case byArgument:
		j.byArgument()
	case byNothing:
		j.unproxied(NoSetting, j.program.cannot, j.program.instead)
	}
	j.place()
	j.keepalive()
	j.passwords()
	j.policy()
	lint.Sorted(v.Findings)
	return *v
}

// byEnvironment is Go's reading of the variables, which client-go and gRPC share.
func (j *judge) byEnvironment() {
	if j.configured != nil {
		j.through(*j.configured)
		return
	}
	s, ok := j.chosen(j.program.reads()...)
	if !ok {
		j.unset()
		return
	}
	if s.unknown {
		j.notGiven(s)
		return
	}
	env := dialect.Env{s.name: s.value}
	list, ok := j.chosen(proxyenv.NoProxy, proxyenv.LowerNoProxy)
	if ok {
		env[list.name] = list.value
	}
	target := dialect.Target{URL: "https://" + j.hub.String(), Scheme: "https", Host: cmp.Or(j.hub.host, "hub.invalid"), Port: j.hub.port}
	goes := golang(env)(target)
	if goes.Route != dialect.Direct || goes.Variable == s.name {
		j.through(s)
		if ok && list.unknown {
			j.say(NotGiven, lint.Info, "whether "+list.name+" covers the hub cannot be told: "+list.source+" is not given", giveSettings)
		}
		return
	}
	j.listed(list, goes)
}

var golang = func() func(dialect.Env) dialect.Decider {
	client, err := dialect.Find("go")
	if err != nil {
		panic(err) // a bug of this program
	}
	return client.Newest().Read
}()

// listed asks Go's reading of a NO_PROXY list whether it covers the hub.
func (h hub) listed(list string) (dialect.Decision, bool) {
	env := dialect.Env{proxyenv.HTTPS: "http://proxy.invalid:3128", proxyenv.NoProxy: list}
	goes := golang(env)(dialect.Target{Scheme: "https", Host: h.host, Port: h.port})
	return goes, goes.Route == dialect.Direct
}

// listed is where NO_PROXY, or Go's rule for the loopback interface, leads past the proxy.
func (j *judge) listed(list setting, goes dialect.Decision) {
	if j.relayed() {
		return
	}
	entry := noproxy.Shown(list.value, goes.Entry.Of(list.value))
	v := &j.verdict
	v.Through, v.Setting = Direct, list.where
	switch {
	case entry == "":
		v.Setting = goes.Reason
	case j.hub.inside():
		j.say(HubInside, lint.Info, fmt.Sprintf("the hub is a Service of this cluster, and %s covers it with %q", list.name, entry), "")
	default:
		j.say(HubListed, lint.Error, fmt.Sprintf("%s covers the hub with %q (%s)", list.name, entry, goes.Reason), "take the entry out, or leave it if the hub is to be reached past the proxy")
	}
}

// byHTTPProxy is frpc: its configuration, then http_proxy as it is, whatever NO_PROXY says.
func (j *judge) byHTTPProxy() {
	s, ok := j.chosen(j.program.reads()...)
	if j.configured != nil {
		s, ok = *j.configured, true
	}
	switch {
	case j.protocol == "kcp" || j.protocol == "quic":
		j.verdict.Through, j.verdict.Setting = Fails, "transport.protocol"
		j.say(NoSetting, lint.Error, "its protocol is "+j.protocol+", which is UDP: no HTTP proxy carries it", "transport.protocol tcp, or wss")
	case !ok:
		j.unset()
	case s.unknown:
		j.notGiven(s)
	default:
		j.through(s)
		list, ok := j.chosen(proxyenv.NoProxy, proxyenv.LowerNoProxy)
		if _, listed := j.hub.listed(list.value); listed && ok && j.configured == nil && !list.unknown && j.hub.host != "" {
			j.say(HubListed, lint.Info, "NO_PROXY covers the hub, and frpc does not read it", "http_proxy without a value, if the hub is to be reached past the proxy")
		}
	}
}

// byArgument judges a program that reads its proxy from an argument, and no variable.
func (j *judge) byArgument() {
	argument := j.program.argument
	switch s := j.configured; {
	case s == nil:
		j.unproxied(NoProxy, "it has no argument "+argument+", and reads no variable", "give it "+argument+", with the value from a variable: $(HTTPS_PROXY)")
	case s.unknown:
		j.notGiven(*s)
	case s.value == "":
		j.unproxied(EmptyValue, s.where+" is empty", "a proxy's URL")
	default:
		j.through(*s)
		if j.program.name == "chisel" && strings.Contains(s.value, "@") {
			j.say(LogsPassword, lint.Warning, "chisel writes the proxy's URL, with the password, into its log", "a proxy that knows its clients by their address, or a relay")
		}
	}
}

// chosen returns the first of these variables that has a value, as Go and frpc choose.
func (j *judge) chosen(names ...string) (setting, bool) {
	for _, name := range names {
		if v := j.env.variables[name]; v.unknown || v.value != "" {
			return setting{name, strings.TrimSuffix("variable "+name+", of "+v.source, ", of "), v}, true
		}
	}
	return setting{}, false
}

// unset is where no variable has a value.
func (j *judge) unset() {
	if j.relayed() {
		return
	}
	reads := j.program.reads()
	mend := installPolicies
	if relay, _ := j.in.Pod.relay(); len(relay.targets()) > 0 {
		mend = "the hub's host:port in the annotation fairlead.io/relay-targets"
	}
	if source, ok := j.env.mayHave(reads); ok {
		j.verdict.Through, j.verdict.Setting = Unknown, source
		j.say(NotGiven, lint.Info, "whether "+source+" sets "+reads[0]+" cannot be told: it is not given", "")
		return
	}
	wants := strings.Join(reads, " or ")
	for _, name := range reads {
		v, ok := j.env.variables[name]
		switch {
		case v.missing:
			j.unproxied(MissingKey, name+" refers to "+v.source+", which is not there: the container does not start", "")
			return
		case ok && v.source != "":
			j.unproxied(EmptyValue, name+" is empty in "+v.source+": there is no proxy", "")
			return
		case ok:
			j.unproxied(EmptyValue, name+" is there, and empty, which turns the proxy off", mend)
			return
		}
	}
	if other, ok := j.chosen(proxyenv.HTTP, proxyenv.HTTPS, proxyenv.LowerHTTP, proxyenv.LowerHTTPS, proxyenv.All, "all_proxy"); ok {
		j.unproxied(OtherVariable, fmt.Sprintf("it reads %s, and has %s alone", wants, other.name), mend)
		return
	}
	j.unproxied(NoProxy, "it reads "+wants+", and has none of that", mend)
}

const (
	installPolicies = "the chart fairlead-policies, or fairlead mutate, and a new pod"
	giveSettings    = "give its content: beside the pod, or by --values and --cluster if it is fairlead-proxy"
)

// unproxied is an agent that dials its hub itself.
func (j *judge) unproxied(code Code, why, mend string) {
	if j.relayed() {
		return
	}
	j.verdict.Through = Direct
	switch {
	case j.hub.loopback(): // that is said where it is judged where the hub is
	case j.hub.inside():
		j.say(HubInside, lint.Info, "the hub, "+j.hub.host+", is taken for a Service of this cluster, to which no proxy leads", "")
	default:
		j.say(code, lint.Error, why, mend)
	}
}

func (j *judge) notGiven(s setting) {
	j.verdict.Through, j.verdict.Setting = Unknown, s.where
	j.say(NotGiven, lint.Info, "the value of "+s.name+" cannot be told: "+s.source+" is not given", giveSettings)
}
