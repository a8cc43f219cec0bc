package operator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// ca creates a ConfigMap with a bundle, at the key that is the default.
func (f *fixture) ca(content string) *corev1.ConfigMap {
	f.Helper()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "ca-" + f.namespace}, Data: map[string]string{"ca.crt": content},
	}
	f.must(f.client.Create(f.Context(), configMap))
	return configMap
}

func trusts(kind, name string) func(*v1alpha1.CorporateProxy) {
	return func(p *v1alpha1.CorporateProxy) {
		p.Spec.TrustedCARef = &v1alpha1.CertificateReference{Kind: kind, Name: name}
	}
}

func (f *fixture) awaitCA(cluster, want string) {
	f.Helper()
	controlplanetest.Await(f, "trusted CA of "+cluster, func(context.Context) (bool, error) {
		if _, systemd := f.secrets(cluster); systemd == nil || string(systemd.Data[render.TrustedCAKey]) != want {
			return false, fmt.Errorf("%v has another one", systemd)
		}
		return true, nil
	})
}

// awaitTrusted awaits the condition TrustedCA with this reason, and returns it.
func (f *fixture) awaitTrusted(proxy *v1alpha1.CorporateProxy, reason string) *metav1.Condition {
	f.Helper()
	var condition *metav1.Condition
	f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool {
		condition = meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionTrustedCA)
		return condition != nil && condition.Reason == reason && condition.ObservedGeneration == p.Generation
	})
	return condition
}

func (f *fixture) expiryMetric(proxy string) string {
	f.Helper()
	page, err := f.operator.Metrics(f.Context())
	f.must(err)
	for line := range strings.Lines(page) {
		if value, found := strings.CutPrefix(line, fmt.Sprintf("fairlead_trusted_ca_expiry_timestamp_seconds{proxy=%q} ", proxy)); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestABundleReachesEveryClusterNormalisedAndSoDoesItsReplacement(t *testing.T) {
	f := newFixture(t)
	end := time.Now().AddDate(3, 0, 0).Truncate(time.Second)
	a, _ := cabundletest.Authority(t, "A")
	b, _ := cabundletest.Authority(t, "B", cabundletest.Until(end))
	configMap := f.ca("# ours\r\n\r\n" + strings.ReplaceAll(a, "\n", "\r\n") + a + b)
	proxy := f.exampleProxy(trusts("", configMap.Name), func(p *v1alpha1.CorporateProxy) { p.Spec.Delegation.Direct = "Allowed" })
	f.cluster("c1")
	f.cluster("c2")
	f.awaitCA("c1", a+b)
	f.awaitCA("c2", a+b)
	if condition := f.awaitTrusted(proxy, "Valid"); condition.Status != metav1.ConditionTrue || !strings.HasPrefix(condition.Message, "2 valid, the first expires on "+end.UTC().Format("2006-01-02")) {
		t.Errorf("%+v", condition)
	}
	if got, want := f.expiryMetric(proxy.Name), fmt.Sprint(float64(end.Unix())); got != want {
		t.Errorf("the metric says %q, not %s", got, want)
	}

	f.override("c1", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	f.awaitReport("c1", "mode Direct", func(r *v1alpha1.ProxyReport) bool { return r.Status.Mode == "Direct" })
	f.awaitCA("c1", a+b)

	// Nothing else is left that makes the operator look at the proxy.
	f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool { return p.Status.Clusters == 2 })
	modify(f, configMap, func(c *corev1.ConfigMap) { c.Data, c.BinaryData = nil, map[string][]byte{"ca.crt": []byte(a)} })
	f.awaitCA("c1", a)
	f.awaitCA("c2", a)
	controlplanetest.Await(t, "the date of the new bundle", func(context.Context) (bool, error) {
		if date := f.expiryMetric(proxy.Name); date == fmt.Sprint(float64(end.Unix())) {
			return false, fmt.Errorf("the metric still says %s", date)
		}
		return true, nil
	})

	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.TrustedCARef = nil })
	f.awaitCA("c2", "")
	f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool {
		return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionTrustedCA) == nil && p.Status.TrustedCAExpiry == nil
	})
	controlplanetest.Await(t, "no metric", func(context.Context) (bool, error) {
		if date := f.expiryMetric(proxy.Name); date != "" {
			return false, fmt.Errorf("the metric still says %s", date)
		}
		return true, nil
	})
}

func TestABundleInASecretIsFollowedFromBeforeItExists(t *testing.T) {
	f := newFixture(t)
	a, _ := cabundletest.Authority(t, "A")
	b, _ := cabundletest.Authority(t, "B")
	name := "ca-" + f.namespace
	proxy := f.exampleProxy(trusts("Secret", name))
	f.cluster("c1")
	if message := readyMessage(f.report("c1", "SourceMissing")); !strings.Contains(message, fmt.Sprintf("spec.trustedCARef: Secret %q does not exist", name)) {
		t.Error(message)
	}
	if condition := f.awaitTrusted(proxy, "Unreadable"); condition.Status != metav1.ConditionUnknown {
		t.Errorf("%+v", condition)
	}
	secret := f.source(name, map[string]string{"other": a})
	f.awaitReport("c1", "the key to be named", func(r *v1alpha1.ProxyReport) bool {
		return strings.Contains(readyMessage(r), "Secret "+name+": data.ca.crt: the key is missing")
	})
	modify(f, secret, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte(a) })
	f.awaitCA("c1", a)
	modify(f, secret, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte(b) })
	f.awaitCA("c1", b)
	f.awaitTrusted(proxy, "Valid")
}

func TestABundleWithAPrivateKeyIsRefusedAndTheKeyIsNowhere(t *testing.T) {
	f := newFixture(t)
	a, key := cabundletest.Authority(t, "A")
	configMap := f.ca(a)
	proxy := f.exampleProxy(trusts("ConfigMap", configMap.Name))
	f.cluster("c1")
	f.awaitCA("c1", a)

	modify(f, configMap, func(c *corev1.ConfigMap) { c.Data["ca.crt"] = key + a })
	for what, message := range map[string]string{
		"report": readyMessage(f.report("c1", "InvalidProxy")),
		"proxy": func() string {
			f.awaitTrusted(proxy, "Unreadable")
			return meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionReady).Message
		}(),
	} {
		if !strings.HasPrefix(message, "ConfigMap "+configMap.Name+": data.ca.crt: line 1: a private key is in it") {
			t.Errorf("%s: %s", what, message)
		}
	}
	if proxy.Status.TrustedCAExpiry == nil {
		t.Error("the date of what machines still get is forgotten")
	}
	f.awaitCA("c1", a) // the last good one
	f.cluster("c2")
	f.report("c2", "InvalidProxy")
	if values, systemd := f.secrets("c2"); values != nil || systemd != nil {
		t.Error("a new cluster got Secrets")
	}

	for name, text := range f.readable(configMap.Name) {
		if !strings.Contains(text, configMap.Name) && name != "metrics" && name != "operator log" {
			t.Errorf("%s says nothing of the ConfigMap, so nothing was searched", name)
		}
		for line := range strings.Lines(key) {
			line = strings.TrimSpace(line)
			for _, needle := range []string{line, base64.StdEncoding.EncodeToString([]byte(line))} {
				if strings.Contains(text, needle) {
					t.Errorf("%s contains a line of the key", name)
				}
			}
		}
	}
	modify(f, configMap, func(c *corev1.ConfigMap) { c.Data["ca.crt"] = a })
	f.awaitCA("c2", a)
	f.awaitTrusted(proxy, "Valid")
}

// readable is everything that the operator says, once it has said something of
// an object in an event.
func (f *fixture) readable(object string) map[string]string {
	f.Helper()
	log, err := f.operator.Log()
	f.must(err)
	if !strings.Contains(log, f.namespace) {
		f.Error("the operator's log has nothing of this test")
	}
	metrics, err := f.operator.Metrics(f.Context())
	f.must(err)
	events := &eventsv1.EventList{}
	controlplanetest.Await(f, "an event about "+object, func(ctx context.Context) (bool, error) {
		err := f.client.List(ctx, events, client.InNamespace(f.namespace))
		return strings.Contains(fmt.Sprint(events.Items), object), err
	})
	audit, err := f.cp.AuditEvents(0, controlplane.ByUser(operator.User))
	f.must(err)
	texts := map[string]string{
		"operator log": log, "metrics": metrics,
		"custom resources": f.text(&v1alpha1.CorporateProxyList{}) + f.text(&v1alpha1.ProxyReportList{}),
	}
	for name, list := range map[string]any{"events": events, "audit log": audit} {
		text, err := json.Marshal(list)
		f.must(err)
		texts[name] = string(text)
	}
	return texts
}

func TestACertificateThatExpiresIsSeenWithoutBeingTold(t *testing.T) {
	f := newFixture(t)
	good, _ := cabundletest.Authority(t, "good")
	configMap := f.ca(good)
	proxy := f.exampleProxy(trusts("", configMap.Name))
	f.cluster("c1")
	f.awaitTrusted(proxy, "Valid")
	// One that is seen only when it has expired says nothing: on a busy machine the next lasts longer.
	for lasts := 5 * time.Second; ; lasts *= 2 {
		end := time.Now().Add(lasts).Truncate(time.Second)
		name := "lasts " + lasts.String()
		old, _ := cabundletest.Authority(t, name, cabundletest.Until(end))
		modify(f, configMap, func(c *corev1.ConfigMap) { c.Data["ca.crt"] = good + old })
		soon := false
		f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool {
			condition := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionTrustedCA)
			if condition == nil || !strings.HasPrefix(condition.Message, "CN="+name+" expire") {
				return false
			}
			soon = condition.Reason == "ExpiresSoon" && condition.Status == metav1.ConditionTrue
			return soon || condition.Reason == "Expired"
		})
		if soon {
			f.checkExpires(proxy, good+old, "CN="+name, end)
			return
		}
		if lasts > time.Minute {
			t.Fatalf("a certificate of %s is not seen before it has expired: %+v", lasts, proxy.Status)
		}
	}
}

// checkExpires: a certificate that is valid until then becomes one that is not, and that is all.
func (f *fixture) checkExpires(proxy *v1alpha1.CorporateProxy, bundle, name string, end time.Time) {
	f.Helper()
	f.awaitCA("c1", bundle)
	version := f.secret("c1" + render.SystemdSuffix).ResourceVersion

	condition := f.awaitTrusted(proxy, "Expired")
	if condition.Status != metav1.ConditionFalse || condition.Message != name+" expired on "+end.UTC().Format("2006-01-02 15:04 UTC") {
		f.Errorf("%+v", condition)
	}
	if got, want := f.expiryMetric(proxy.Name), fmt.Sprint(float64(end.Unix())); got != want {
		f.Errorf("the metric says %q, not %s", got, want)
	}
	if !meta.IsStatusConditionTrue(proxy.Status.Conditions, v1alpha1.ConditionReady) {
		f.Error("the proxy is not Ready")
	}
	f.report("c1", "Applied")
	if secret := f.secret("c1" + render.SystemdSuffix); secret.ResourceVersion != version || string(secret.Data[render.TrustedCAKey]) != bundle {
		f.Error("the Secret was written for it")
	}
}
