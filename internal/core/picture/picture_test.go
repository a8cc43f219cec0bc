package picture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

var now = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func input(clusters int) picture.Input {
	in := picture.Input{Now: now, OperatorNamespace: "fairlead-system", Lease: &diagnosis.Lease{Holder: "pod", Renewed: now, Duration: 15 * time.Second}}
	in.Reports, in.Proxies, in.Clusters = picturetest.Fleet(clusters, now)
	return in
}

func lines(all []picture.Problem) []string {
	var texts []string
	for _, p := range all {
		since := "-"
		if p.Since != nil {
			since = now.Sub(p.Since.Time).String()
		}
		texts = append(texts, fmt.Sprintf("%s %s %s %d %s %s: %s", p.State, p.Of, p.Code, p.Count, since, strings.Join(p.Examples, ","), p.More))
	}
	return texts
}

func compared(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatIsSaidIsGroupedTheWorstFirstAndTheLongestOfEach(t *testing.T) {
	p := picture.Of(input(700))
	if got, want := fmt.Sprint(p.States), "[{Error 8} {Warning 30} {Unknown 12} {Waiting 24} {Fine 626}]"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
	compared(t, lines(p.Problems), []string{
		"Error Cluster Ready/Refused 6 42h0m0s team-paris/paris-0617,team-vienna/vienna-0517,team-dublin/dublin-0417: fairlead doctor cluster --namespace team-paris paris-0617",
		"Error Cluster Ready/InvalidOverride 2 92h0m0s team-warsaw/warsaw-0283,team-paris/paris-0533: fairlead doctor cluster --namespace team-warsaw warsaw-0283",
		"Warning CorporateProxy TrustedCA/ExpiresSoon 1 40m0s europe: kubectl describe corporateproxy europe",
		"Warning Cluster MachinesOutdated/BuiltBeforeTheChange 30 720h0m0s team-dublin/dublin-0004,team-dublin/dublin-0144,team-dublin/dublin-0284: fairlead doctor cluster --namespace team-dublin dublin-0004",
		"Unknown Cluster EgressVerified/Stale 12 84h0m0s team-paris/paris-0659,team-vienna/vienna-0559,team-dublin/dublin-0459: fairlead doctor cluster --namespace team-paris paris-0659",
		"Waiting CorporateProxy Reconciling/RollingOut 1 40m0s europe: fairlead rollout status europe",
		"Waiting Cluster Held/WaitsForWave 24 95h0m0s team-vienna/vienna-0286,team-dublin/dublin-0186,team-madrid/madrid-0086: fairlead doctor cluster --namespace team-vienna vienna-0286",
	})
	for _, problem := range p.Problems {
		for _, own := range []string{"8 of 20", "admission webhook"} {
			if strings.Contains(problem.Text, own) {
				t.Errorf("says of all what is of one: %s", problem.Text)
			}
		}
	}
}

func TestWhatIsBehindIsCounted(t *testing.T) {
	p := picture.Of(input(700))
	var got []string
	for _, b := range p.Behind {
		got = append(got, fmt.Sprintf("%s %d/%d in %d: %s", b.What, b.Number, b.Of, b.Clusters, b.More))
	}
	compared(t, got, []string{
		"Machines 240/14000 in 30: fairlead nodes --all-namespaces --outdated",
		"Pods 41/0 in 0: kubectl describe corporateproxy europe",
		"Relays 3/0 in 0: kubectl describe corporateproxy europe",
		"Namespaces 12/0 in 0: kubectl describe corporateproxy europe",
	})
	if len(p.Expires) != 1 || p.Expires[0].Time.Sub(now) != (21*24+12)*time.Hour {
		t.Errorf("%+v", p.Expires)
	}
	if e := p.Proxies[0]; e.Phase != "Progressing" || e.Updated != 233 || e.Of != 700 || e.More != "fairlead rollout status europe" || p.Proxies[1].Phase != "" {
		t.Errorf("%+v", p.Proxies)
	}
}

// A fleet in which nothing is wrong but one thing.
func TestEachStateOfAClusterAndOfTheOperator(t *testing.T) {
	gone := metav1.NewTime(now.Add(-time.Hour))
	for name, test := range map[string]struct {
		change func(*picture.Input)
		want   []string
	}{
		"nothing": {func(*picture.Input) {}, nil},
		"a Cluster without a report": {
			func(in *picture.Input) {
				in.Clusters = append(in.Clusters, metav1.ObjectMeta{Namespace: "org", Name: "new"})
			},
			[]string{"Error Cluster ProxyReport/NotFound 1 - org/new: fairlead doctor cluster --namespace org new"},
		},
		"a report without a Cluster": {
			func(in *picture.Input) { in.Clusters = nil },
			[]string{"Warning Cluster Cluster/NotFound 1 - team-frankfurt/frankfurt-0000: fairlead doctor cluster --namespace team-frankfurt frankfurt-0000"},
		},
		"a report of whose Cluster nobody knows": {
			func(in *picture.Input) {
				in.Clusters, in.Unread = nil, map[diagnosis.Source]string{diagnosis.SourceCluster: "forbidden"}
			}, nil,
		},
		"a Cluster that goes": {
			func(in *picture.Input) { in.Clusters[0].DeletionTimestamp = &gone },
			[]string{"Waiting Cluster Cluster/Deleting 1 1h0m0s team-frankfurt/frankfurt-0000: fairlead doctor cluster --namespace team-frankfurt frankfurt-0000"},
		},
		"an operator that has stopped": {
			func(in *picture.Input) { in.Lease.Renewed = gone.Time },
			[]string{"Error Operator Operator/Stopped 1 1h0m0s fairlead-system: kubectl get deployments,pods --namespace fairlead-system"},
		},
		"machines that the operator replaces": {
			func(in *picture.Input) {
				in.Reports[0].Status.Nodes.Outdated = 1
				in.Proxies = []v1alpha1.CorporateProxy{{ObjectMeta: metav1.ObjectMeta{Name: "europe"}}}
				in.Proxies[0].Spec.Node.Rollout = v1alpha1.RolloutRolling
			},
			[]string{"Waiting Cluster MachinesOutdated/BuiltBeforeTheChange 1 720h0m0s team-frankfurt/frankfurt-0000: fairlead doctor cluster --namespace team-frankfurt frankfurt-0000"},
		},
		"two conditions of one cluster": {
			func(in *picture.Input) {
				in.Reports[0].Status.Conditions = append(in.Reports[0].Status.Conditions,
					metav1.Condition{Type: v1alpha1.ConditionPaused, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPaused, LastTransitionTime: gone},
					metav1.Condition{Type: "OfALaterVersion", Status: metav1.ConditionTrue, Reason: "X"})
			},
			[]string{
				"Warning Cluster Paused/Paused 1 1h0m0s team-frankfurt/frankfurt-0000: fairlead doctor cluster --namespace team-frankfurt frankfurt-0000",
				"Waiting Cluster OfALaterVersion/X 1 - team-frankfurt/frankfurt-0000: fairlead doctor cluster --namespace team-frankfurt frankfurt-0000",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(1)
			in.Proxies = nil
			test.change(&in)
			p := picture.Of(in)
			got := lines(p.Problems)
			for i := range got { // a time that is not known is zero where a condition has it
				got[i] = strings.Replace(got[i], now.Sub(time.Time{}).String(), "-", 1)
			}
			compared(t, got, test.want)
			if want := picture.Fine; len(test.want) == 0 && p.Clusters[0].State != want {
				t.Errorf("the cluster is %s", p.Clusters[0].State)
			}
			if len(in.Unread) > 0 && len(p.Unread) != 1 {
				t.Errorf("not looked at: %q", p.Unread)
			}
		})
	}
}
