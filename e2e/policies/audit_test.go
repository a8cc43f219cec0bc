package policies_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

const (
	missing   = ": has none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. The pod is older than the policy inject-proxy-env, or was let in without it: replace the pod"
	leftOut   = "gets no HTTP_PROXY, HTTPS_PROXY and NO_PROXY: "
	injectKey = "policies.kyverno.io/inject-proxy-env"
)

// audited is one of testdata/audit.yaml: a pod, and what its report says by policy.
type audited struct {
	Pod      corev1.Pod `json:"pod"`
	Injected bool       `json:"injected"`
	Mend     string     `json:"mend"`
	Watch    string     `json:"watch"`
	Agent    string     `json:"agent"`
}

func auditedPods(t *testing.T) []audited {
	t.Helper()
	text := controlplanetest.ReadFile(t, filepath.Join("testdata", "audit.yaml"))
	var all []audited
	text = []byte(strings.NewReplacer("$missing", missing, "$leftOut ", leftOut).Replace(string(text)))
	controlplanetest.Require(t, yaml.UnmarshalStrict(text, &all))
	for _, a := range all {
		if !a.Injected {
			continue
		}
		first := &a.Pod.Spec.Containers[0]
		for _, entry := range injected() {
			if !slices.ContainsFunc(first.Env, func(own corev1.EnvVar) bool { return own.Name == entry.Name }) {
				first.Env = append(first.Env, entry)
			}
		}
	}
	return all
}

func TestReportsSayOfEachPodWhatWasMissed(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it has a control plane of its own, and much of its time is waiting
	cp := controlplanetest.Start(t, controlplane.Options{Content: kyverno.Content})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	clients := controlplanetest.Clients(t, cp)
	namespace := controlplanetest.Namespace(t, cp)
	off := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "off", Labels: map[string]string{injectKey: "exclude"}}}
	_, err := clients.CoreV1().Namespaces().Create(t.Context(), off, metav1.CreateOptions{})
	controlplanetest.Require(t, err)

	// The pods come first: the audit must find pods that were admitted before the
	// policies.
	expected := map[string]audited{}
	pods := auditedPods(t)
	pods = append(pods, audited{
		Pod:   corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "away", Namespace: off.Name}, Spec: pods[0].Pod.Spec},
		Watch: leftOut + "label policies.kyverno.io/inject-proxy-env=exclude of its namespace",
	})
	for _, a := range pods {
		if a.Pod.Namespace == "" {
			a.Pod.Namespace = namespace
		}
		created := createPod(t, clients, a.Pod)
		expected[string(created.UID)] = a
		if created.Status.Phase = a.Pod.Status.Phase; created.Status.Phase != "" {
			_, err := clients.CoreV1().Pods(created.Namespace).UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
			controlplanetest.Require(t, err)
		}
	}

	relayRows := map[string]mutationtest.Row{}
	rows, err := mutationtest.Rows(decisionsFolder, mutationtest.Relay, nil)
	controlplanetest.Require(t, err)
	for _, r := range rows {
		created := r.Pod()
		created.Namespace = namespace
		relayRows[string(createPod(t, clients, *created).UID)] = r
	}

	k, err := kyverno.Start(t.Context(), cp, kyverno.Options{Progress: t.Output()})
	controlplanetest.Require(t, err)
	_, err = k.StartReports(t.Context())
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), mutationtest.ToTargets))

	c := controlplanetest.Client(t, cp.Admin(), nil)
	var reports map[string]map[string]result
	controlplanetest.Await(t, "a report of each pod by all three policies", func(ctx context.Context) (bool, error) {
		var err error
		reports, err = readReports(ctx, c)
		for uid, a := range expected {
			if len(reports[uid]) < 3 {
				return false, fmt.Errorf("of %s: %v (%w)", a.Pod.Name, reports[uid], err)
			}
		}
		for uid, r := range relayRows {
			if len(reports[uid]) < 3 {
				return false, fmt.Errorf("of row %s: %v (%w)", r.Number, reports[uid], err)
			}
		}
		return true, err
	})
	// No policy has reached them: those that should have a relay are found, and no others.
	without := []string{"23", "27", "28", "29"}
	for uid, r := range relayRows {
		if found := reports[uid]["audit-tunnels"].result == "fail"; found == slices.Contains(without, r.Number) {
			t.Errorf("of row %s of the relay's table the report says %v", r.Number, reports[uid]["audit-tunnels"])
		}
	}
	for uid, a := range expected {
		t.Run(a.Pod.Name, func(t *testing.T) {
			want := map[string]result{"audit-proxy-env": {"pass", "success"}, "audit-proxy-unreached": {"pass", "success"}, "audit-tunnels": {"pass", "success"}}
			if a.Mend != "" {
				want["audit-proxy-env"] = result{"fail", a.Mend}
			}
			if a.Watch != "" {
				want["audit-proxy-unreached"] = result{"warn", a.Watch}
			}
			if a.Agent != "" {
				want["audit-tunnels"] = result{"fail", a.Agent}
			}
			if got := reports[uid]; !maps.Equal(got, want) {
				t.Errorf("the report says\n%v\nwant\n%v", got, want)
			}
		})
	}
	t.Run("with carry Relay", func(t *testing.T) {
		through := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "through-the-relay", Namespace: namespace}, Spec: pods[0].Pod.Spec}
		through.Spec.Containers = []corev1.Container{{Name: "web", Image: "web", Env: byRelay.entries(namespace, false)}}
		uids := map[string]string{string(createPod(t, clients, through).UID): through.Name}
		for uid, a := range expected {
			uids[uid] = a.Pod.Name
		}
		controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), mutationtest.OverTLS, byRelay.values))
		const onNode = "is on the network of its node, which has no relay"
		const copied = "refers to the Secret fairlead-proxy, whose copies nobody renews any more: "
		pass := result{"pass", "success"}
		want := map[string]map[string]result{
			"may-have-its-own": {
				"audit-proxy-env": pass, "audit-tunnels": pass,
				"audit-proxy-unreached": {"warn", "container web: names none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and may have its own from oauth2-proxy, which exclude.sources of the chart leaves alone"},
			},
			"through-the-relay": {"audit-proxy-env": pass, "audit-proxy-unreached": pass, "audit-tunnels": pass},
			"injected": {
				"audit-proxy-env":       {"fail", "container web: " + copied + "replace the pod, so that it goes through fairlead-relay"},
				"audit-proxy-unreached": pass, "audit-tunnels": pass,
			},
			"on-the-node-asking": {"audit-proxy-env": pass, "audit-proxy-unreached": {"warn", leftOut + onNode}, "audit-tunnels": pass},
			"hub-at-443": {
				"audit-proxy-env":       {"fail", "container konnectivity-agent: " + copied + "on its node there is no relay that it could go through"},
				"audit-proxy-unreached": {"warn", leftOut + onNode}, "audit-tunnels": pass,
			},
			"unset-on-its-node": {
				"audit-proxy-env": pass, "audit-proxy-unreached": {"warn", leftOut + onNode},
				"audit-tunnels": {"fail", "container agent: is to read the proxy from HTTPS_PROXY or https_proxy and has none: it " + onNode},
			},
		}
		controlplanetest.Await(t, "reports by the changed policies", func(ctx context.Context) (bool, error) {
			reports, err := readReports(ctx, c)
			got := map[string]map[string]result{}
			for uid, report := range reports {
				if name := uids[uid]; want[name] != nil {
					got[name] = report
				}
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(result{})); err == nil && diff != "" {
				err = fmt.Errorf("-want +got:\n%s", diff)
			}
			return err == nil, err
		})
	})
	t.Run("at no cost for new pods", func(t *testing.T) {
		controlplanetest.Require(t, k.Await(t.Context(), policies.InjectProxyEnv)) // Kyverno has been round
		var configurations admissionv1.ValidatingWebhookConfigurationList
		controlplanetest.Require(t, c.List(t.Context(), &configurations))
		for _, configuration := range configurations.Items {
			for _, webhook := range configuration.Webhooks {
				if asksAboutPods(webhook) {
					t.Errorf("%s asks about pods", webhook.Name)
				}
			}
		}
	})
}
