package replicator

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// source has the content of the Secret in the own namespace. With a problem, no copy is changed in any way.
type source struct {
	data      map[string][]byte
	changedAt time.Time
	// credentials is their fingerprint; empty: nobody counts.
	credentials string
	problem     string // stateSourceMissing, stateSourceInvalid, or none
	detail      string
}

// readSource takes nil for a Secret that does not exist.
func readSource(secret *corev1.Secret) source {
	if secret == nil {
		return source{problem: stateSourceMissing, detail: "it does not exist"}
	}
	data, err := proxysecret.Data(secret)
	if err != nil {
		return source{problem: stateSourceInvalid, detail: err.Error()}
	}
	return source{data: data, changedAt: proxysecret.DataChangedAt(secret), credentials: secret.Annotations[proxysecret.CredentialsAnnotation]}
}

// state is everything that the decision about one namespace needs.
type state struct {
	namespace   string
	created     time.Time // the namespace
	terminating bool
	excluded    bool
	source      source
	copy        *corev1.Secret // of our name, whoever made it; nil if there is none
	trustedCA   trustedCA
	inUse       needs         // asked for only where something is to be taken away
	nextPoll    time.Duration // when to ask again
	now         time.Time
}

// needs says which objects pods of a namespace may still read.
type needs struct {
	secret    bool // anything of the Secret
	ca        bool // its key of the authorities
	trustedCA bool // the ConfigMap of the authorities
}

// The verbs of a decision.
const (
	keep   = ""
	refuse = "refuse" // somebody must do something
	create = "create"
	update = "update"
	remove = "delete"
)

// What becomes of a namespace: the label "state" of the metric, and the reason of events.
const (
	stateCurrent       = "Current"
	stateExcluded      = "Excluded"
	stateInUse         = "InUse" // to be taken away, but pods refer to it
	stateTerminating   = "Terminating"
	stateNameTaken     = "NameTaken"
	stateContended     = "Contended" // somebody writes as often as we do
	stateImmutable     = "Immutable"
	stateSource        = "Source" // the own namespace, while there is something to copy
	stateSourceMissing = "SourceMissing"
	stateSourceInvalid = "SourceInvalid"
	stateFailed        = "WriteFailed" // what the decision asked for was refused
)

type decision struct {
	verb      string
	state     string
	detail    string        // of a refusal
	object    client.Object // what to create, update or delete; nil for keep and refuse
	pollAgain bool          // although nothing that is watched will change
}

// mayRemove reports whether something of a namespace is to be removed: the copy of the Secret, its key of the authorities, or the
// ConfigMap. Only then does it matter whether pods refer to it.
func mayRemove(s state) bool {
	if s.terminating || s.source.problem != "" {
		return false
	}
	return isOurs(s.copy) && (s.excluded || losesCA(s)) || losesTrustedCA(s)
}

// stillNeeded returns the objects that are to be removed although pods refer to them.
func stillNeeded(s state, refer needs) needs {
	secret := isOurs(s.copy)
	return needs{
		secret:    refer.secret && secret && s.excluded,
		ca:        refer.ca && secret && losesCA(s),
		trustedCA: refer.trustedCA && losesTrustedCA(s),
	}
}

// isOurs reports whether there is a copy that we may write.
func isOurs(secret *corev1.Secret) bool {
	return secret != nil && proxysecret.IsOurs(secret) && secret.Type == corev1.SecretTypeOpaque
}

// losesCA reports whether the copy has certificates, and its source has none any more.
func losesCA(s state) bool {
	_, copyOK := s.copy.Data[proxysecret.CAKey]
	_, sourceOK := s.source.data[proxysecret.CAKey]
	return copyOK && !sourceOK
}

// decide says what a namespace needs.
func decide(s state) decision {
	switch {
	case s.terminating:
		return decision{state: stateTerminating} // nothing can be made there, and all will go
	case s.excluded && !isOurs(s.copy):
		return decision{state: stateExcluded}
	case s.copy != nil && !proxysecret.IsOurs(s.copy):
		return nameTaken(render.SecretLabel, proxysecret.Role)
	case s.copy != nil && s.copy.Type != corev1.SecretTypeOpaque:
		return decision{verb: refuse, state: stateNameTaken, detail: "its type is not Opaque, so it is left as it is: delete it"}
	case s.source.problem != "":
		return decision{state: s.source.problem}
	case s.excluded && !s.inUse.secret:
		return decision{verb: remove, state: stateExcluded, object: s.copy}
	case s.copy == nil:
		return decision{verb: create, state: stateCurrent, object: newCopy(s)}
	}
	return mend(s)
}

// nameTaken refuses to write an object of our name that lacks our label.
func nameTaken(label, value string) decision {
	const text = "it has no label %s=%s, so it is left as it is: delete it, or set the label to hand it over"
	return decision{verb: refuse, state: stateNameTaken, detail: fmt.Sprintf(text, label, value)}
}

var immutable = decision{verb: refuse, state: stateImmutable, detail: "it is immutable and its content is out of date: delete it, and it is made anew"}

// mend makes an existing copy right.
func mend(s state) decision {
	d := decision{state: stateCurrent}
	data := s.source.data
	if losesCA(s) && s.inUse.ca {
		data = maps.Clone(data)
		data[proxysecret.CAKey] = s.copy.Data[proxysecret.CAKey]
		if s.trustedCA.source != nil {
			data[proxysecret.CAKey] = []byte(s.trustedCA.source[proxysecret.CAKey])
		}
		d.pollAgain = true
	}
	if d.pollAgain = d.pollAgain || s.excluded; d.pollAgain {
		d.state = stateInUse
	}
	same, dated := proxysecret.Equal(s.copy.Data, data), isDated(s.copy)
	marked := s.source.credentials == "" || same && historyOf(s.copy).Now() == s.source.credentials
	switch {
	case same && dated && marked:
		return d
	case !same && s.copy.Immutable != nil && *s.copy.Immutable:
		return immutable
	}
	right := s.copy.DeepCopy()
	right.Data = data
	d.verb, d.object = update, right
	changedAt := s.now
	switch {
	case same && dated:
		changedAt, _ = time.Parse(time.RFC3339, s.copy.Annotations[proxysecret.ChangedAtAnnotation])
	case same:
		changedAt = proxysecret.DataChangedAt(s.copy)
	case changedAt.Before(s.source.changedAt): // by the API server's clock; ours is slow
		changedAt = s.source.changedAt
	}
	date(right, changedAt)
	if s.source.credentials == "" {
		delete(right.Annotations, proxysecret.CredentialsAnnotation) // it would not be true for long
		return d
	}
	others := proxysecret.Account(s.copy.Data) != proxysecret.Account(data)
	mark(right, historyOf(s.copy).Next(s.source.credentials, others, changedAt))
	return d
}

func newCopy(s state) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace,
			Name:      proxysecret.Name,
			Labels:    map[string]string{render.SecretLabel: proxysecret.Role, render.ManagedLabel: render.Manager},
		},
		Type: corev1.SecretTypeOpaque,
		Data: s.source.data,
	}
	date(secret, s.source.changedAt)
	if s.source.credentials != "" {
		mark(secret, proxysecret.History{{Fingerprint: s.source.credentials, Since: firstSince(s)}})
	}
	return secret
}

// firstCopy is how soon a namespace gets its first copy. Later, there may have been one that somebody deleted.
const firstCopy = time.Minute

// firstSince returns when the history of a copy begins that is made now. What started earlier may have had another copy. In a new
// namespace there was none, and pods wait for the first one: what starts right away has what is in it.
func firstSince(s state) time.Time {
	switch {
	case s.created.After(s.source.changedAt) && s.now.Sub(s.created) < firstCopy:
		return s.created.Add(-proxysecret.Lag)
	case s.now.Before(s.source.changedAt): // by the API server's clock; ours is slow
		return s.source.changedAt
	}
	return s.now
}

func historyOf(secret *corev1.Secret) proxysecret.History {
	return proxysecret.ParseHistory(secret.Annotations[proxysecret.CredentialsAnnotation])
}

func mark(secret *corev1.Secret, history proxysecret.History) {
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, proxysecret.CredentialsAnnotation, history.String())
}

func date(secret *corev1.Secret, at time.Time) {
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, proxysecret.ChangedAtAnnotation, at.UTC().Format(time.RFC3339))
}

func isDated(secret *corev1.Secret) bool {
	_, err := time.Parse(time.RFC3339, secret.Annotations[proxysecret.ChangedAtAnnotation])
	return err == nil
}
