package waves

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Preflight tells "fairlead-operator preflight" what to try, and reads its answers. The one worker of package waves
// alone uses it. The Secret has a key while something is to be tried, and no longer.
type Preflight struct {
	Client    client.Client // caches
	Namespace string
	Enabled   bool

	asked map[string]asked  // by CorporateProxy
	tasks map[string][]byte // the same, of this look at the fleet
}

// asked is since when a revision is to be tried.
type asked struct {
	digest string
	since  time.Time
	full   bool // there is no room to say so
}

// begin begins a look at the fleet.
func (p *Preflight) begin() { p.tasks = map[string][]byte{} }

// known returns how the newest revision of a CorporateProxy did so far; nil without spec.probes.
func (p *Preflight) known(ctx context.Context, proxy *v1alpha1.CorporateProxy, last *metav1.Condition) (*rollout.Preflight, error) {
	switch {
	case proxy.Spec.Probes == nil:
		return nil, nil
	case proxy.Spec.Probes.BeforeChange == v1alpha1.BeforeChangeNever:
		return &rollout.Preflight{Off: "spec.probes.beforeChange is Never"}, nil
	case !p.Enabled:
		return &rollout.Preflight{Off: "preflight.enabled of the chart is false"}, nil
	}
	k := &rollout.Preflight{Asked: p.asked[proxy.Name].digest, Since: p.asked[proxy.Name].since, Full: p.asked[proxy.Name].full, Last: last}
	answers, err := machinery.Get[corev1.ConfigMap](ctx, p.Client, p.key())
	if err != nil || answers == nil {
		return k, err
	}
	if answer, err := probe.ParseAnswer(answers.Data[proxy.Name]); err == nil {
		k.Answer = &answer
	}
	return k, nil
}

// ask adds the revision to the tasks of the preflight, if the decision says so.
func (p *Preflight) ask(proxy string, d rollout.Decision, known []*settings.Stored, now time.Time) {
	if !d.Try {
		delete(p.asked, proxy)
		return
	}
	find := func(of *rollout.Revision) *settings.Stored {
		if of == nil {
			return nil
		}
		return settings.Find(known, &v1alpha1.ReportedRevision{Proxy: proxy, Number: of.Number, Digest: of.Digest})
	}
	candidate := find(d.Target)
	task := probe.Task{Candidate: wayOf(candidate), Targets: preflightTargets(candidate.Installation)}
	if control := find(d.Control); control != nil {
		way := wayOf(control)
		task.Control = &way
	}
	text := task.Text()
	full := len(text)+p.size() > maxTasks // its turn comes when others are done; the condition says when that takes too long
	if !full {
		p.tasks[proxy] = text
	}
	if last := p.asked[proxy]; last.digest == candidate.Digest && (full || !last.full) {
		now = last.since
	}
	if p.asked == nil {
		p.asked = map[string]asked{}
	}
	p.asked[proxy] = asked{candidate.Digest, now, full}
}

// maxTasks is less than a Secret may have; the rest is room for its base64 and its metadata.
const maxTasks = 700 << 10

func (p *Preflight) size() (bytes int) {
	for _, text := range p.tasks {
		bytes += len(text)
	}
	return bytes
}

// write updates the Secret with the tasks of this round. The tasks of undecided CorporateProxies stay as they are.
func (p *Preflight) write(ctx context.Context, undecided []string) error {
	secret, err := machinery.Get[corev1.Secret](ctx, p.Client, p.key())
	if err != nil {
		return err
	}
	if secret == nil && len(p.tasks) == 0 {
		return nil
	}
	data := map[string][]byte{}
	if secret != nil {
		for _, name := range undecided {
			if text, ok := secret.Data[name]; ok {
				data[name] = text
			}
		}
	}
	maps.Copy(data, p.tasks)
	if secret != nil && maps.EqualFunc(secret.Data, data, bytes.Equal) {
		return nil
	}
	_, err = apply.Write(ctx, p.Client, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: probe.PreflightName, Labels: map[string]string{render.ManagedLabel: render.Manager}},
		Data:       data,
	})
	if err != nil {
		return fmt.Errorf("telling the preflight what to try: %w", err)
	}
	return nil
}

func (p *Preflight) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: probe.PreflightName}
}

func wayOf(s *settings.Stored) probe.Way {
	way := render.Way(s.Installation)
	way.Revision, way.Digest = s.Number, s.Digest
	return way
}

// preflightTargets returns the targets that some cluster is to reach through the proxy.
func preflightTargets(of resolve.Installation) []probe.Target {
	if of.Probes == nil {
		return nil
	}
	direct := dialect.CompileGo(of.NoProxy.String())
	var all []probe.Target
	for _, t := range of.Probes.Targets {
		d, err := probe.ParseURL(t.URL)
		if err != nil || t.Expect != probe.Reachable || t.Route == probe.Direct || proxyFor(of, d.Scheme).IsZero() {
			continue
		}
		if _, _, bypassed := direct.Match(d.Host, d.Port); bypassed && t.Route == "" {
			continue
		}
		target := probe.Target{URL: t.URL, Expect: probe.Reachable, Route: probe.Proxied}
		if !slices.Contains(all, target) {
			all = append(all, target)
		}
	}
	return all
}

func proxyFor(of resolve.Installation, scheme string) proxyurl.URL {
	if scheme == "http" {
		return of.HTTP
	}
	return of.HTTPS
}

// lastReachable returns the last condition ProxyReachable of a CorporateProxy, together with its last rollout status.
func (r *Reconciler) lastReachable(proxy *v1alpha1.CorporateProxy) *metav1.Condition {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.plans[proxy.Name]; p != nil && p.uid == proxy.UID {
		return p.status.conditions[v1alpha1.ConditionProxyReachable]
	}
	said := meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionProxyReachable)
	if said == nil {
		return nil
	}
	return &metav1.Condition{Type: said.Type, Status: said.Status, Reason: said.Reason, Message: said.Message}
}
