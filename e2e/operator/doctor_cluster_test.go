package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
)

// doctor runs "fairlead doctor cluster", and returns its exit status and what it prints.
func (f *fixture) doctor(as *rest.Config, args ...string) (status int, out string) {
	f.Helper()
	status, out, problem := f.fairlead(as, append([]string{"doctor", "cluster"}, args...)...)
	return status, out + problem
}

// awaitDoctor awaits that exactly this is said of a cluster, each as severity and code.
func (f *fixture) awaitDoctor(cluster string, status int, want ...string) diagnosis.Diagnosis {
	f.Helper()
	var d diagnosis.Diagnosis
	controlplanetest.Await(f, "what is said of "+cluster, func(context.Context) (bool, error) {
		got, out := f.doctor(f.cp.Admin(), "-n", f.namespace, "cluster/"+cluster, "-o", "json")
		d = diagnosis.Diagnosis{}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			return false, fmt.Errorf("%w: %s", err, out)
		}
		var codes []string
		for _, s := range d.Sentences {
			if kind, _, _ := strings.Cut(s.Code, "/"); kind == v1alpha1.ConditionOldCredentialsUnseen || strings.HasPrefix(s.Code, diagnosis.OfFindings) {
				continue // of the fleet, from the change of the password on; of the example's list
			}
			codes = append(codes, string(s.Severity)+" "+s.Code)
			if (s.Severity == diagnosis.Error || s.Severity == diagnosis.Warning) && s.Do == "" {
				f.Errorf("%s: who must do what? %+v", cluster, s)
			}
		}
		return controlplanetest.Holds(got == status && slices.Equal(codes, want), "status %d, it says %q; want %d and %q", got, codes, status, want)
	})
	return d
}

func TestTheDoctorSaysWhatIsWrongWithACluster(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--leader-elect=true")
	f.exampleProxy()
	f.cluster("rest-0")
	f.servedCluster("rest-1")

	f.awaitDoctor("rest-0", 0)
	status, out := f.doctor(f.cp.Admin(), "-n", f.namespace, "rest-0")
	want := "Cluster " + f.namespace + "/rest-0: nothing is wrong but what lint says of the settings.\n\nInfo     Findings/MissingNodes\n"
	looked := "\nLooked at: Lease of the operator, Cluster, ProxyReport, CorporateProxy, metadata of both Secrets, metadata of the Machines.\n" +
		"Not looked at: whether programs in the cluster get out"
	if status != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, looked) || !strings.Contains(out, "observe.enabled of the chart fairlead") {
		t.Errorf("status %d, it says\n%s\nwant\n%s", status, out, want+looked)
	}

	f.doctorOfNobody()
	paused := &clusterv1.Cluster{ObjectMeta: f.named("rest-0")}
	modify(f, paused, pausedByAnnotation)
	f.awaitDoctor("rest-0", 1, "Warning Paused/Paused")
	modify(f, paused, notPausedByAnnotation)
	f.awaitDoctor("rest-0", 0)

	f.machine("rest-1", "cp-0", f.controlPlane("rest-1"))
	f.awaitNodes("rest-1", 1, 0, 0, 0)
	f.changeSource("rest-1", otherPassword("changed"))
	d := f.awaitDoctor("rest-1", 1, "Warning MachinesOutdated/BuiltBeforeTheChange")
	if !strings.HasPrefix(d.Sentences[0].Text, "1 of 1 machine ") {
		t.Errorf("%+v", d.Sentences)
	}
	f.doctorWithoutRights()
	f.doctorOfADeadOperator("rest-1")
}

// A name that is not there is bad input; what it may have been is said.
func (f *fixture) doctorOfNobody() {
	f.Helper()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a name like it":     {[]string{"-n", f.namespace, "rest0"}, "there is no Cluster rest0 in the namespace " + f.namespace + "; did you mean rest-0"},
		"in another":         {[]string{"-n", "default", "rest-0"}, "there is no Cluster rest-0 in the namespace default; there is one in: " + f.namespace + " (give it with -n)"},
		"a kind of others":   {[]string{"-n", f.namespace, "pod/rest-0"}, "give NAME or cluster/NAME"},
		"another API server": {[]string{"-n", f.namespace, "rest-0", "--context", "other"}, "no way to reach a cluster"},
	} {
		if status, out := f.doctor(f.cp.Admin(), test.args...); status != 2 || !strings.Contains(out, test.want) {
			f.Errorf("%s: status %d, it says %s", name, status, out)
		}
	}
}

// A user who may read only the report still gets a judgement of it, and a note of the
// missing rights.
func (f *fixture) doctorWithoutRights() {
	f.Helper()
	role := rbacv1.Role{
		ObjectMeta: f.named("reader"),
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"fairlead.io"}, Resources: []string{"proxyreports"}, Verbs: []string{"list"}}},
	}
	f.must(f.client.Create(f.Context(), &role))
	f.must(f.client.Create(f.Context(), &rbacv1.RoleBinding{
		ObjectMeta: f.named(role.Name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}},
	}))
	somebody, err := f.cp.User("somebody")
	f.must(err)
	var status int
	var out string
	controlplanetest.Await(f, "the right to read reports", func(context.Context) (bool, error) {
		status, out = f.doctor(somebody, "-n", f.namespace, "rest-1")
		return controlplanetest.Holds(strings.Contains(out, "MachinesOutdated/BuiltBeforeTheChange"), "%s", out)
	})
	for _, want := range []string{
		"Operator/Unread", "you need the right to list leases.coordination.k8s.io in the namespace fairlead-system",
		"Not looked at: Cluster: you need the right to list clusters.cluster.x-k8s.io in the namespace " + f.namespace,
		"Not looked at: CorporateProxy: you need the right to list corporateproxies.fairlead.io in a ClusterRole",
		"Not looked at: metadata of both Secrets: you need the right to list secrets in the namespace " + f.namespace,
	} {
		if !strings.Contains(out, want) {
			f.Errorf("it does not say %q", want)
		}
	}
	if status != 1 {
		f.Errorf("status %d: %s", status, out)
	}
	stranger, err := f.cp.User("stranger")
	f.must(err)
	if status, out := f.doctor(stranger, "-n", f.namespace, "rest-1"); status != 3 || !strings.Contains(out, "ProxyReport/Unread") {
		f.Errorf("status %d: %s", status, out)
	}
}

// The operator dies. Its Lease is as old as it would be some minutes later.
func (f *fixture) doctorOfADeadOperator(cluster string) {
	f.Helper()
	f.operator.Kill()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: diagnosis.LeaseName}}
	renewed := metav1.NewMicroTime(time.Now().Add(-5 * time.Minute))
	modify(f, lease, func(l *coordinationv1.Lease) { l.Spec.RenewTime = &renewed })
	d := f.awaitDoctor(cluster, 1, "Error Operator/Stopped", "Warning MachinesOutdated/BuiltBeforeTheChange")
	if since := d.Sentences[0].Since; since == nil || since.Unix() != renewed.Unix() {
		f.Errorf("%+v", d.Sentences[0])
	}
}
