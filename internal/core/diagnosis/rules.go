package diagnosis

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// rule says how severe a condition is, what it means, and who must do what. With an empty text, nothing is reported.
type rule struct {
	severity Severity
	text     string
	do       string // who must do what
}

// kind has the rules for the conditions of one type: by the reason, or else by the status.
type kind struct {
	reasons  rules
	statuses map[metav1.ConditionStatus]rule
}

type rules = map[string]rule

func (k kind) of(c metav1.Condition) (rule, bool) {
	if r, ok := k.reasons[c.Reason]; ok {
		return r, true
	}
	r, ok := k.statuses[c.Status]
	return r, ok
}

// condition says what a condition means. One of an unknown type is of a newer operator.
func (j *judge) condition(kinds map[string]kind, c metav1.Condition) {
	r, ok := kinds[c.Type].of(c)
	if !ok {
		r = rule{severity: Info, text: c.Type + " is " + string(c.Status) + " (" + c.Reason + "), which this version of fairlead does not know"}
	}
	if c.Type == v1alpha1.ConditionEgressVerified && c.Reason != v1alpha1.ReasonStale {
		r.do = remedies(c.Message, r.do)
	}
	if slices.Contains(fromProvider, c.Reason) && j.begins() {
		r.severity = Info
	}
	if r.text != "" {
		since := c.LastTransitionTime
		j.say(r.severity, c.Type+"/"+c.Reason, r.text, c.Message, &since, r.do)
	}
}

const (
	keeper   = "owner of CorporateProxy {proxy}: "
	owner    = "cluster's owner: "
	platform = "platform team: "
	status   = platform + "fairlead rollout status {proxy}"

	restartPods    = "owners of the pods: restart them; fairlead pods in the workload cluster names them"
	lookAtTargets  = platform + "look at the targets (spec.probes of the CorporateProxy, probe.targets of fairlead-policies), and at the proxy's log"
	lookAtObserver = platform + "see that fairlead-observe runs here and reaches the cluster (Secret {name}-kubeconfig), and that fairlead-probe runs there"
	lookAtDelivery = platform + "see kubectl describe clusterresourcesetbinding {name} --namespace {namespace}, and the label fairlead.io/cluster of the Cluster"
	lookAtProbe    = platform + "look whether the Secret {name}-kubeconfig is right, whether fairlead-probe runs in the cluster and has targets " +
		"(spec.probes.mustReach of the CorporateProxy, probe.targets of fairlead-policies), and whether fairlead-observe runs here"
)

// fromProvider are the reasons for which a new cluster waits for its infrastructure provider.
var fromProvider = []string{string(resolve.ReasonEndpointUnknown), string(resolve.ReasonFactsPending)}

// beginning is how long a provider may take for a cluster's network and load balancer before somebody must look at it.
const beginning = 30 * time.Minute

// begins reports whether the Cluster is new. Where it could not be read, its report is as old.
func (j *judge) begins() bool {
	switch {
	case j.Cluster != nil:
		return j.Now.Sub(j.Cluster.CreationTimestamp.Time) < beginning
	case j.Report != nil:
		return j.Now.Sub(j.Report.CreationTimestamp.Time) < beginning
	}
	return false
}

// What several conditions or reasons mean.
var (
	none          = rule{severity: Info}
	nameTaken     = rule{Error, "a Secret of the name that it is to have is somebody else's", platform + "delete that Secret, or hand it over"}
	contended     = rule{Error, "somebody undoes what the operator writes", platform + "stop the field manager that is named"}
	egressFails   = rule{Error, "programs in the cluster do not get out as they should", lookAtTargets}
	egressUnknown = rule{Unknown, "whether programs in the cluster get out is not known", lookAtProbe}
	inWaves       = rule{Info, "a change goes through the waves", ""}
	notTried      = rule{Info, "the newest URLs and credentials were not tried in the management cluster", ""}
)

// noSettings are the reasons for which a cluster has no new settings.
var noSettings = rules{
	string(resolve.ReasonInvalidProxy):        {Error, "the CorporateProxy cannot be used", keeper + "correct what is named"},
	string(resolve.ReasonSourceMissing):       {Error, "what the CorporateProxy names does not exist", keeper + "create it, or correct the name; if the chart fairlead made it: helm upgrade with your values"},
	string(resolve.ReasonNoProxy):             {Error, "there is no CorporateProxy", platform + "create one"},
	string(resolve.ReasonAmbiguous):           {Error, "several CorporateProxies select the cluster", platform + "raise the priority of one"},
	string(resolve.ReasonNamespaceNotAllowed): {Error, "a CorporateProxy selects the cluster, and may not be used in its namespace", platform + "label the namespace {namespace}, or change allowedNamespaces"},
	string(resolve.ReasonNotSelected):         {Error, "no CorporateProxy selects the cluster, which had a proxy", platform + "correct the selector or the labels of the Cluster"},
	string(resolve.ReasonNotSelectedYet):      {Info, "no CorporateProxy selects the new cluster yet", platform + "label the Cluster, or wait: its Secrets are blank after the grace period"},
	string(resolve.ReasonProxyGone):           {Error, "the CorporateProxy of the cluster was deleted", platform + "create it again, or name it in spec.replaces of the one that is to have its clusters"},
	string(resolve.ReasonEndpointUnknown):     {Error, "the address of the cluster's API server is not known yet", platform + "wait for the infrastructure provider: kubectl describe cluster {name} --namespace {namespace}"},
	string(resolve.ReasonFactsPending):        {Error, "a fact that the NO_PROXY list needs is not known yet", platform + "wait for the infrastructure provider; FactsUnread says why it cannot be read"},
	string(resolve.ReasonInvalidFacts):        {Error, "a provider's facts cannot be used", platform + "correct what is named: the ConfigMap with provider facts, or the infrastructure object"},
	string(resolve.ReasonUnknownPromise):      {Error, "the operator does not have the form or the facts that the cluster was promised, as after a downgrade", platform + "upgrade the operator"},
	string(resolve.ReasonInvalidCluster):      {Error, "the Cluster says something that cannot be, or is too broad", owner + "correct the Cluster"},
	string(resolve.ReasonInvalidOverride):     {Error, "the ProxyOverride of the cluster cannot be used", owner + "correct ProxyOverride {name}; status.refusals of the ProxyReport has each entry"},
	string(resolve.ReasonNotDelegated):        {Error, "the ProxyOverride sets what the CorporateProxy does not delegate", owner + "take it out of ProxyOverride {name}, or ask for the delegation"},
	string(resolve.ReasonTooLarge):            {Error, "the settings are too long for where they go", keeper + "list networks instead of addresses, or reduce spec.node"},
	string(resolve.ReasonNotCarriable):        {Error, "the settings have a character that a place cannot carry", keeper + "change the value, or remove the place from spec.node"},
}

// ofReport are the conditions of a ProxyReport.
var ofReport = map[string]kind{
	v1alpha1.ConditionReady: {
		reasons: joinRules(noSettings, rules{
			v1alpha1.ReasonApplied:     none,
			v1alpha1.ReasonNameTaken:   nameTaken,
			v1alpha1.ReasonContended:   contended,
			v1alpha1.ReasonRefused:     {Error, "the API server refused a Secret", platform + "look at admission policies, quotas, and whether the Secret is immutable"},
			v1alpha1.ReasonWriteFailed: {Error, "a Secret could not be written; the operator tries again", platform + "look at the webhooks for Secrets, and the operator's log"},
		}),
		statuses: byStatus(none,
			rule{Error, "the cluster does not get its settings", platform + "kubectl describe proxyreport {name} --namespace {namespace}"},
			rule{Unknown, "whether the cluster has its settings is not known", ""}),
	},
	v1alpha1.ConditionNameTaken: whileTrue(v1alpha1.ReasonNameTaken, nameTaken),
	v1alpha1.ConditionContended: whileTrue(v1alpha1.ReasonContended, contended),
	v1alpha1.ConditionPaused: whileTrue(v1alpha1.ReasonPaused,
		rule{Warning, "no change reaches the cluster", owner + "resume the Cluster: spec.paused, or the annotation cluster.x-k8s.io/paused"}),
	v1alpha1.ConditionFactsUnread: whileTrue(v1alpha1.ReasonReadFailed,
		rule{Warning, "the object with the provider's facts could not be read, and those that were read before stay", platform + "look into the operator's log"},
		rules{
			v1alpha1.ReasonObjectNotFound:   {Warning, "the object with the provider's facts does not exist", owner + "correct the reference in the Cluster"},
			v1alpha1.ReasonForbidden:        {Warning, "the operator may not read the object with the provider's facts", platform + "give it the right to get it, by a ClusterRole with the label fairlead.io/aggregate-to-provider-facts"},
			v1alpha1.ReasonRowMissing:       {Warning, "the ConfigMap that says which facts to read is not there, and those that were read before stay", platform + "restore the ConfigMap, with its label; one whose row has no facts takes them away"},
			v1alpha1.ReasonUnparsable:       {Warning, "the object with the provider's facts has values that cannot be read, and the list is made without them", owner + "correct the object that is named"},
			v1alpha1.ReasonKindNotInstalled: {Warning, "the kind of the object with the provider's facts is not installed", platform + "install the provider, or correct the reference in the Cluster"},
		}),
	v1alpha1.ConditionMachinesOutdated: whileTrue(v1alpha1.ReasonBuiltBefore,
		rule{Warning, "machines keep the settings that they were built with", platform + "fairlead nodes --namespace {namespace}"}),
	v1alpha1.ConditionRevisionUnknown: whileTrue(v1alpha1.ReasonNotRecordedHere, rule{Info, "the cluster keeps its Secrets until its wave", ""}),
	v1alpha1.ConditionHeld:            whileTrue(v1alpha1.ReasonWaitsForWave, rule{Info, "a change of the cluster's own waits", ""}),
	v1alpha1.ConditionEndpointsDirect: {reasons: rules{
		v1alpha1.ReasonEndpointsBypassed:     none,
		v1alpha1.ReasonEndpointsThroughProxy: {Warning, "controllers of this management cluster dial API servers of other clusters through the proxy", platform + "list the networks or domains of the endpoints in ProxyOverride {name}"},
		v1alpha1.ReasonListUnknown:           {Unknown, "whether controllers of this management cluster dial API servers of others directly is not known", ""},
	}},
	v1alpha1.ConditionEgressVerified: {
		reasons: rules{
			v1alpha1.ReasonVerified:    none,
			v1alpha1.ReasonFailed:      egressFails,
			v1alpha1.ReasonStale:       {Unknown, "nobody has looked for two periods whether programs in the cluster get out, and which credentials they have", lookAtObserver},
			v1alpha1.ReasonNotObserved: egressUnknown,
		},
		statuses: byStatus(none, egressFails, egressUnknown),
	},
	v1alpha1.ConditionDelivered: {
		reasons: rules{
			v1alpha1.ReasonDelivered:    none,
			v1alpha1.ReasonPending:      {Info, "the newest settings are on their way into the cluster", ""},
			v1alpha1.ReasonNotDelivered: {Warning, "Cluster API does not apply the newest settings in the cluster", lookAtDelivery},
			v1alpha1.ReasonBlocked:      {Warning, "no settings are given to Cluster API for the cluster", lookAtDelivery},
			v1alpha1.ReasonNotRenewed:   {Unknown, "whether the cluster still has the settings that arrived is not known", lookAtDelivery},
		},
		statuses: byStatus(none,
			rule{Warning, "the newest settings are not in the cluster", lookAtDelivery},
			rule{Unknown, "whether the cluster has the newest settings is not known", lookAtDelivery}),
	},
	v1alpha1.ConditionPodsReached: {
		reasons: rules{
			v1alpha1.ReasonReached:          none,
			v1alpha1.ReasonOtherCredentials: {Warning, "programs in the cluster have other credentials than its Secrets", restartPods},
			v1alpha1.ReasonStale:            {Unknown, "which credentials programs in the cluster have was last seen too long ago", ""},
			v1alpha1.ReasonNotObserved:      {Unknown, "which credentials programs in the cluster have is not known", ""},
		},
		statuses: byStatus(none,
			rule{Warning, "programs in the cluster have an older password than its Secrets", restartPods},
			rule{Unknown, "whether programs in the cluster have the newest password is not known", ""}),
	},
}

// ofProxy are the conditions of a CorporateProxy.
var ofProxy = map[string]kind{
	v1alpha1.ConditionReady: {
		reasons: joinRules(noSettings, rules{v1alpha1.ReasonAccepted: none}),
		statuses: byStatus(none,
			rule{Error, "the last change of the CorporateProxy cannot be used, and clusters keep what they have", keeper + "correct what is named"},
			rule{Unknown, "whether the CorporateProxy can be used is not known", ""}),
	},
	v1alpha1.ConditionTrustedCA: {reasons: rules{
		v1alpha1.ReasonValid:       none,
		v1alpha1.ReasonExpiresSoon: {Warning, "a certificate of the company's bundle expires soon", keeper + "add the next one"},
		v1alpha1.ReasonExpired:     {Error, "a certificate of the company's bundle has expired", keeper + "replace it"},
		v1alpha1.ReasonNotYetValid: {Warning, "a certificate of the company's bundle is not valid yet", keeper + "look at its dates"},
		v1alpha1.ReasonUnreadable:  {Unknown, "whether the certificates of the company's bundle are valid is not known", ""},
	}},
	v1alpha1.ConditionReconciling: {reasons: rules{
		v1alpha1.ReasonPreflight:  {Info, "a change is tried in the management cluster before the first cluster gets it", ""},
		v1alpha1.ReasonRollingOut: inWaves,
		v1alpha1.ReasonSoaking:    inWaves,
		v1alpha1.ReasonUndoing:    {Info, "a change is taken back", ""},
	}, statuses: byStatus(inWaves, none, none)},
	v1alpha1.ConditionStalled: {reasons: rules{
		v1alpha1.ReasonHalted:            {Warning, "the rollout halted, and no further cluster gets the newest revision", platform + "repair the clusters that are named, or fairlead rollout undo {proxy}"},
		v1alpha1.ReasonRolloutPaused:     {Warning, "the rollout is paused, and no further cluster gets the newest revision", platform + "fairlead rollout resume {proxy}, or spec.rollout.paused: false"},
		v1alpha1.ReasonInvalidRollout:    {Warning, "spec.rollout cannot be used, and no cluster gets another revision", keeper + "correct spec.rollout"},
		v1alpha1.ReasonWaveEmpty:         {Warning, "the rollout stops at a wave without a cluster", keeper + "correct its selector or the labels, or remove the wave"},
		v1alpha1.ReasonClustersInNoWave:  {Warning, "some clusters are in no wave, and do not get the newest revision", keeper + "add a wave without clusterSelector at the end"},
		v1alpha1.ReasonAllRejected:       {Warning, "every revision is rejected, and clusters keep what they have", keeper + "make a correct change"},
		v1alpha1.ReasonRevisionNotStored: {Warning, "the newest revision could not be stored, and no cluster gets it", platform + "look at quotas and admission policies of the namespace {operator}"},
		v1alpha1.ReasonRevisionLost:      {Warning, "the objects of a revision are gone, and clusters keep what they have", platform + "restore them in the namespace {operator}, or make another change"},
		v1alpha1.ReasonPreflightFailed:   {Warning, "the newest revision does not work in the management cluster, and no cluster gets it", keeper + "correct the change; ProxyReachable says what was seen"},
		v1alpha1.ReasonPreflightNoAnswer: {Warning, "the newest revision waits to be tried in the management cluster, and fairlead-preflight does not answer", platform + "look at the pods of fairlead-preflight, or set spec.probes.beforeChange: Never"},
		v1alpha1.ReasonPreflightNoRoom:   {Warning, "the newest revision waits to be tried in the management cluster, and there is no room to ask for it", platform + "correct the changes of other CorporateProxies that failed, make the bundle of spec.trustedCARef smaller, or set spec.probes.beforeChange: Never"},
	}, statuses: byStatus(rule{Warning, "no further cluster gets the newest revision", status}, none, none)},
	v1alpha1.ConditionRolloutProblem: {reasons: rules{
		v1alpha1.ReasonWavesOverlap:     {Info, "waves overlap", ""},
		v1alpha1.ReasonClustersSkipped:  {Info, "a rollout left clusters out", ""},
		v1alpha1.ReasonRejectedUnknown:  {Info, "a rejected revision is not known", ""},
		v1alpha1.ReasonSuperseded:       {Info, "a revision was replaced before all clusters had it", ""},
		v1alpha1.ReasonChangeIncomplete: {Warning, "a change is not complete, and waits", keeper + "set the annotation " + v1alpha1.ChangeAnnotation + " of all objects to one value"},
	}, statuses: byStatus(rule{Info, "something is wrong with the rollout, and it continues", ""}, none, none)},
	v1alpha1.ConditionOldCredentialsUnseen: {reasons: rules{
		v1alpha1.ReasonUnseen:      none,
		v1alpha1.ReasonStillInUse:  {Info, "older credentials are still in use somewhere in the fleet: do not revoke them yet", ""},
		v1alpha1.ReasonNotObserved: {Info, "whether older credentials are in use somewhere in the fleet is not known: do not revoke them yet", ""},
	}},
	v1alpha1.ConditionProxyReachable: {
		reasons: joinRules(ofNewest(probes), rules{
			v1alpha1.ReasonReached:              none,
			v1alpha1.ReasonTrying:               {Info, "the newest URLs and credentials are being tried in the management cluster", ""},
			v1alpha1.ReasonNotTried:             notTried,
			v1alpha1.ReasonNotReachableFromHere: {Info, "nothing is known of the newest URLs and credentials: what was tried fails with those of the clusters, too", ""},
			v1alpha1.ReasonNoAnswer:             {Unknown, "fairlead-preflight does not answer", ""},
			v1alpha1.ReasonNoRoom:               {Info, "there is no room to ask fairlead-preflight for the newest revision", ""},
		}),
		statuses: byStatus(none,
			rule{Warning, "the newest URLs or credentials do not work in the management cluster, and no cluster gets them", keeper + "correct them"}, notTried),
	},
}

// reasonPattern matches a reason in the message of an observation, such as "https://a.example: CredentialsRefused (407)".
var reasonPattern = regexp.MustCompile(`: ([A-Za-z]+)`)

// remedies returns what to do about the reasons that the message of an observation names.
func remedies(message, otherwise string) string {
	var all []string
	for _, match := range reasonPattern.FindAllStringSubmatch(message, -1) {
		if r, ok := probes[match[1]]; ok && !slices.Contains(all, match[1]+": "+r.do) {
			all = append(all, match[1]+": "+r.do)
		}
	}
	if all == nil {
		return otherwise
	}
	return strings.Join(all, "; ") + ". All messages: kubectl get configmap fairlead-probe --output yaml in the cluster, in the namespace of fairlead-policies"
}

const (
	network = "network team: "
	proxies = "proxy's team: "
)

// probes has a rule for each reason why a target is not reached as expected. The advice is that of
// docs/how-to/probes.md.
var probes = rules{
	string(probe.LookupFailed):          {Error, "the name of a target is not found in DNS", network + "fix DNS, or the URL; for what must not be reached, where DNS has no external names: or set route: Proxied"},
	string(probe.ConnectionRefused):     {Error, "a target refuses the connection", "owner of the target: start it, or correct the port"},
	string(probe.ConnectionTimeout):     {Error, "a target does not answer", network + "look for a firewall, or for a missing NO_PROXY entry"},
	string(probe.NetworkUnreachable):    {Error, "the network has no way to the target or the proxy", network + "look at routes, or have it go through the proxy"},
	string(probe.ProxyLookupFailed):     {Error, "the name of the proxy is not found in DNS", network + "fix DNS, or use an address"},
	string(probe.ProxyRefused):          {Error, "nobody listens at the proxy's port", keeper + "correct the port, or have the proxy started"},
	string(probe.ProxyTimeout):          {Error, "the proxy does not answer", network + "look for a firewall; ask the proxy's team"},
	string(probe.ProxyNotHTTP):          {Error, "what answers at the proxy's address is no HTTP proxy", keeper + "correct the port, or http:// and https://"},
	string(probe.ProxyAuthorityUnknown): {Error, "the certificate of the proxy is signed by nobody who is known", platform + "put its authority into trustedCA.bundle of fairlead-policies"},
	string(probe.CredentialsRefused):    {Error, "the proxy refuses user or password (407)", keeper + "correct the password; or have the account unlocked, and restart relays and probe, which ask again in up to an hour"},
	string(probe.ProxyForbids):          {Error, "the proxy forbids a target (403)", proxies + "allow target and port for this account"},
	string(probe.ProxyCannotReach):      {Error, "the proxy does not reach a target (502, 503, 504)", proxies + "look whether the target is up, and how the proxy gets to it"},
	string(probe.ProxyAnswers):          {Error, "the proxy answers in a way that is not expected", proxies + "look at its log"},
	string(probe.Intercepted):           {Error, "the proxy inspects TLS, and the bundle lacks its authority", platform + "put its authority into trustedCA.bundle of fairlead-policies, or ask for an exception"},
	string(probe.AuthorityUnknown):      {Error, "the certificate of a target is signed by nobody who is known", platform + "put its authority into trustedCA.bundle of fairlead-policies, if it is the company's"},
	string(probe.TLSFailed):             {Error, "TLS with a target fails", proxies + "read the message; look for a firewall that reads names"},
	string(probe.NoHTTP):                {Error, "a target does not speak HTTP", platform + "write its URL with tcp://"},
	string(probe.WentAround):            {Error, "the settings lead around the proxy to a target that is to be reached through it", keeper + "remove the entry from NO_PROXY; fairlead explain names it"},
	string(probe.WentThroughProxy):      {Error, "the settings lead through the proxy to a target that is to be reached directly", keeper + "add an entry to NO_PROXY"},
	string(probe.Reached):               {Error, "a target is reached that must not be", network + "close that way: fairlead render -o networkpolicy"},
	string(probe.NoControl):             {Unknown, "nothing else was reached either, so nobody knows whether a target is closed", platform + "add a target that is reached by the same route, or fix it"},
}

// ofPreflight has the advice that differs where the management cluster tried the target: it uses the bundle of the
// CorporateProxy.
var ofPreflight = map[string]string{
	string(probe.ProxyAuthorityUnknown): keeper + "put its authority into the bundle of trustedCARef",
	string(probe.Intercepted):           keeper + "put its authority into the bundle of trustedCARef, or ask for an exception",
	string(probe.AuthorityUnknown):      keeper + "put its authority into the bundle of trustedCARef, if it is the company's",
	string(probe.CredentialsRefused):    keeper + "correct {credentials}, which is tried at once, or have the account unlocked",
}

// ofNewest are the same reasons of a revision that no cluster gets: clusters keep the revision that they have.
func ofNewest(table rules) rules {
	newest := rules{}
	for reason, r := range table {
		newest[reason] = rule{Warning, "no cluster gets the newest revision: " + r.text, cmp.Or(ofPreflight[reason], r.do)}
	}
	return newest
}

// whileTrue is for a type that exists while it is True, with a reason of its own, and others.
func whileTrue(reason string, r rule, others ...rules) kind {
	return kind{joinRules(append(others, rules{reason: r})...), byStatus(r, none, none)}
}

func byStatus(yes, no, unknown rule) map[metav1.ConditionStatus]rule {
	return map[metav1.ConditionStatus]rule{metav1.ConditionTrue: yes, metav1.ConditionFalse: no, metav1.ConditionUnknown: unknown}
}

// joinRules joins tables. Where several have the same key, the last wins.
func joinRules(tables ...rules) rules {
	all := rules{}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}
