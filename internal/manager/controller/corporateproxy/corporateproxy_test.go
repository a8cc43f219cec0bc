package corporateproxy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// A certificate that expires changes nothing by which somebody would be told.
func TestReconcileLooksAgainWhenACertificateExpires(t *testing.T) {
	scheme, err := machinery.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	expiring, _ := cabundletest.Authority(t, "soon", cabundletest.Until(time.Now().Add(30*time.Second)))
	objects := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.CorporateProxy{}).WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "source"}, Data: map[string][]byte{"http": []byte("http://proxy.example:3128")}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "ca"}, Data: map[string]string{"ca.crt": expiring}},
		&v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}, Spec: v1alpha1.CorporateProxySpec{
			Source:       v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "source"}},
			TrustedCARef: &v1alpha1.CertificateReference{Name: "ca"},
		}},
	).Build()
	r := &Reconciler{Client: objects, Proxies: &settings.Installations{Client: objects, Namespace: "system"}, Events: events.NewFakeRecorder(1)}
	key := types.NamespacedName{Name: "default"}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > 31*time.Second {
		t.Errorf("it expires in 30 s; the next look is in %s, error %v", result.RequeueAfter, err)
	}
	proxy := &v1alpha1.CorporateProxy{}
	if err := objects.Get(t.Context(), key, proxy); err != nil {
		t.Fatal(err)
	}
	if is := meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionTrustedCA); is == nil || is.Reason != "ExpiresSoon" {
		t.Errorf("the condition is %+v", is)
	}
}
