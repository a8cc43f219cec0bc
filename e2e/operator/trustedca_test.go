package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// ca creates a ConfigMap with a bundle, at the key that is the default.
func (f *fixture) ca(content string) *corev1.ConfigMap {
	f.Helper()
	configMap := configMapNamed(operator.Namespace, "ca-"+f.namespace)
	configMap.Data = map[string]string{"ca.crt": content}
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
		_, systemd := f.secrets(cluster)
		return controlplanetest.Holds(systemd != nil && string(systemd.Data[render.TrustedCAKey]) == want, "%v has another one", systemd)
	})
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
	f.awaitProxy(proxy, "two valid ones", func(p *v1alpha1.CorporateProxy) bool {
		c := conditionOf(p.Status.Conditions, v1alpha1.ConditionTrustedCA)
		return c.Status == metav1.ConditionTrue && c.Reason == "Valid" && strings.HasPrefix(c.Message, "2 valid, the first expires on "+end.UTC().Format("2006-01-02"))
	})
	page, err := f.operator.Metrics(t.Context())
	f.must(err)
	if got := process.Sum(page, fmt.Sprintf("fairlead_trusted_ca_expiry_timestamp_seconds{proxy=%q}", proxy.Name)); got != float64(end.Unix()) {
		t.Errorf("the metric says %v, not %d", got, end.Unix())
	}

	f.override("c1", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	f.awaitReport("c1", "mode Direct", func(r *v1alpha1.ProxyReport) bool { return r.Status.Mode == "Direct" })
	f.awaitCA("c1", a+b)

	// Nothing else is left that makes the operator look at the proxy.
	f.awaitProxy(proxy, "two clusters", func(p *v1alpha1.CorporateProxy) bool { return p.Status.Clusters == 2 })
	modify(f, configMap, func(c *corev1.ConfigMap) { c.Data, c.BinaryData = nil, map[string][]byte{"ca.crt": []byte(a)} })
	f.awaitCA("c1", a)
	f.awaitCA("c2", a)

	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.TrustedCARef = nil })
	f.awaitCA("c2", "")
	f.awaitProxy(proxy, "no bundle", func(p *v1alpha1.CorporateProxy) bool {
		return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionTrustedCA) == nil && p.Status.TrustedCAExpiry == nil
	})
}
