package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func (f *countedFleet) reportOf(name string) *v1alpha1.ProxyReport {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), clusterKey(name), report); err != nil {
		f.Fatal(err)
	}
	return report
}

// onClient puts functions between the reconciler and the client that counts.
func (f *countedFleet) onClient(funcs interceptor.Funcs) {
	f.Helper()
	below, ok := f.Client.(client.WithWatch)
	if !ok {
		f.Fatal("the client has no watch")
	}
	f.Client = interceptor.NewClient(below, funcs)
}

// A cluster that fails carries its doubt in its own report: a restart applies no other one again.
func TestOneClusterThatFailsPutsNoOtherInDoubt(t *testing.T) {
	f := newCountedFleet(t, 2)
	f.reconcileAll(2)
	f.fail["apply"] = apierrors.NewInternalError(errors.New("failed calling webhook"))
	f.setPassword("new-password")
	if _, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")}); err == nil {
		t.Fatal("c0 is to fail")
	}
	if ready := meta.FindStatusCondition(f.reportOf("c0").Status.Conditions, v1alpha1.ConditionReady); ready.Reason != v1alpha1.ReasonWriteFailed {
		t.Errorf("it is Ready: %+v", ready)
	}
	delete(f.fail, "apply")
	if _, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c1")}); err != nil {
		t.Fatal(err)
	}
	f.changes.sweep(t.Context(), time.Now().Add(time.Hour))
	f.restart()
	f.want("after a restart", f.reconcileAll(2), map[string]int{"apply": 2, "status of ProxyReport": 1, "status of CorporateProxy": 1})
}

func TestAProxyThatIsDeletedDoesNotTakeTheMarkAlong(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	before := f.applied["c0-systemd-proxy"]
	other := sourceWith("other")
	other.Name = "other"
	trial := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "trial", UID: "trial"}, Spec: v1alpha1.CorporateProxySpec{
		Priority: 9, Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "other"}},
	}}
	for _, object := range []client.Object{other, trial} {
		if err := f.objects.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	f.fail["status of ProxyReport"] = apierrors.NewInternalError(errors.New("it dies here"))
	f.reconcileAll(1)
	delete(f.fail, "status of ProxyReport")
	f.restart()
	if err := f.objects.Delete(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	f.reconcileAll(1)
	if f.applied["c0-systemd-proxy"] != before {
		t.Errorf("the Secret keeps the proxy that was deleted: %s\n%s\n%v", f.applied["c0-systemd-proxy"], before, f.proxy().Status)
	}
}

func TestARequestThatComesDuringAReconcileIsSeenByTheNext(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	f.onClient(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		report := f.reportOf("c0")
		metav1.SetMetaDataAnnotation(&report.ObjectMeta, "example.com/by", "somebody")
		if err := f.objects.Update(ctx, report); err != nil {
			return err
		}
		return c.Patch(ctx, o, patch, opts...)
	}})
	f.setPassword("new-password")
	_, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
	if !apierrors.IsConflict(err) { // it comes again with what there is
		t.Errorf("%v", err)
	}
}

func TestWhereOneSecretExistsTheOtherIsNotCreatedBlank(t *testing.T) {
	f := newCountedFleet(t, 1)
	proxy := f.proxy()
	proxy.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "later"}}
	if err := f.objects.Update(t.Context(), proxy); err != nil {
		t.Fatal(err)
	}
	f.onClient(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			var dry client.CreateOptions
			dry.ApplyOptions(opts)
			switch _, secret := o.(*corev1.Secret); {
			case !secret:
				return c.Create(ctx, o, opts...)
			case o.GetName() == "c0-cluster-values": // of a backup, or of somebody's own making
				return apierrors.NewAlreadyExists(corev1.Resource("secrets"), o.GetName())
			case len(dry.DryRun) == 0:
				t.Errorf("%s is created blank", o.GetName())
			}
			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if o.GetName() == "c0-cluster-values" {
				return apierrors.NewGenericServerResponse(422, "patch", corev1.Resource("secrets"), "", "test failed", 0, false)
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	if _, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")}); err != nil {
		t.Fatal(err)
	}
	if note := f.reportOf("c0").Annotations[v1alpha1.HadProxyAnnotation]; note != "true" {
		t.Errorf("had-proxy is %q", note)
	}
}

func TestARefusedWriteIsNotAnnouncedAsWritten(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	f.fail["apply"] = apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New("immutable"))
	f.setPassword("new")
	for range 3 {
		f.reconcileAll(1)
	}
	f.changes.sweep(t.Context(), time.Now().Add(time.Minute))
	for len(f.recorder.Events) > 0 {
		if event := <-f.recorder.Events; strings.Contains(event, "wrote the Secrets") {
			t.Error(event)
		}
	}
}
