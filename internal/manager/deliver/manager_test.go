package deliver

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func TestTheCachesHoldWhatIsReadAndWhatElseChangesIsNoEvent(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c", ResourceVersion: "1", Labels: map[string]string{v1alpha1.DeliverLabel: "c", "a": "b"}}}
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c"}}
	report.Status.Entries = make([]v1alpha1.ReportedEntry, 64)
	report.Status.Secrets = []v1alpha1.SecretRecord{{Role: "cluster-values", HMAC: "h"}, {Role: "systemd-proxy"}}
	binding := &addonsv1.ClusterResourceSetBinding{Spec: addonsv1.ClusterResourceSetBindingSpec{ClusterName: "c", Bindings: []addonsv1.ResourceSetBinding{
		{ClusterResourceSetName: "theirs"}, {ClusterResourceSetName: "c-fairlead-source"},
	}}}
	for object, change := range map[client.Object]func(){
		cluster: func() { cluster.Labels["a"], cluster.ResourceVersion, cluster.Status.Phase = "c", "2", "Provisioned" },
		report:  func() { report.Status.Entries, report.Status.Mode = nil, "Direct" },
		binding: func() { binding.Spec.Bindings = binding.Spec.Bindings[1:] },
	} {
		before := trimmed(t, object)
		if change(); changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: trimmed(t, object)}) {
			t.Errorf("%T: an event", object)
		}
	}
	paused := true
	for object, change := range map[client.Object]func(){
		cluster: func() { cluster.Spec.Paused = &paused },
		report:  func() { report.Status.Secrets[0].HMAC = "i" },
		binding: func() { binding.Spec.Bindings[0].Resources = make([]addonsv1.ResourceBinding, 1) },
	} {
		before := trimmed(t, object)
		if change(); !changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: trimmed(t, object)}) {
			t.Errorf("%T: no event", object)
		}
	}
}

func trimmed(t *testing.T, o client.Object) client.Object {
	t.Helper()
	kept, err := trim(o.DeepCopyObject())
	if err != nil {
		t.Fatal(err)
	}
	return kept.(client.Object)
}

func TestImpossibleOptionsAreRefusedByTheNameOfTheirFlag(t *testing.T) {
	good := Options{WorkloadNamespace: "x", Renew: time.Hour, ReportAfter: time.Minute}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*Options){
		"--renew":              func(o *Options) { o.Renew = time.Millisecond },
		"--report-after":       func(o *Options) { o.ReportAfter = 0 },
		"--workload-namespace": func(o *Options) { o.WorkloadNamespace = "a/b" },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
