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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

const (
	missing = ": has none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. The pod is older than the policy inject-proxy-env, or was let in without it: replace the pod"
	leftOut = "gets no HTTP_PROXY, HTTPS_PROXY and NO_PROXY: "
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
		for _, entry := range secretRef.entries("", false) {
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
	off := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "off", Labels: exclude()}}
	_, err := clients.CoreV1().Namespaces().Create(t.Context(), off, metav1.CreateOptions{})
	controlplanetest.Require(t, err)

	// The pods come first: the audit must find pods that were admitted before the
	// policies.
	expected, names := map[string]audited{}, map[string]string{} // by the UID of the pod
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
		expected[string(created.UID)], names[string(created.UID)] = a, a.Pod.Name
		if created.Status.Phase = a.Pod.Status.Phase; created.Status.Phase != "" {
			_, err := clients.CoreV1().Pods(created.Namespace).UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
			controlplanetest.Require(t, err)
		}
	}

	relayRows := map[string]mutationtest.Row{}
	rows, err := mutationtest.Rows(decisionsFolder, mutationtest.Relay, nil)
	controlplanetest.Require(t, err)
	for _, r := range rows {
		pod := r.Pod()
		pod.Namespace = namespace
		created := createPod(t, clients, *pod)
		relayRows[string(created.UID)], names[string(created.UID)] = r, "row "+r.Number
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
		for uid, name := range names {
			if len(reports[uid]) < 3 {
				return false, fmt.Errorf("of %s: %v (%w)", name, reports[uid], err)
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
			if got, want := reports[uid], reported(a.Mend, a.Watch, a.Agent); !maps.Equal(got, want) {
				t.Errorf("the report says\n%v\nwant\n%v", got, want)
			}
		})
	}
	t.Run("with carry Relay", func(t *testing.T) {
		through := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "through-the-relay", Namespace: namespace}, Spec: pods[0].Pod.Spec}
		through.Spec.Containers = []corev1.Container{{Name: "web", Image: "web", Env: byRelay.entries(namespace, false)}}
		names[string(createPod(t, clients, through).UID)] = through.Name
		controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), mutationtest.OverTLS, byRelay.values))
		const onNode = "is on the network of its node, which has no relay"
		const copied = "refers to the Secret fairlead-proxy, whose copies nobody renews any more: "
		want := map[string]map[string]result{
			"may-have-its-own":   reported("", "container web: names none of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and may have its own from oauth2-proxy, which exclude.sources of the chart leaves alone", ""),
			"through-the-relay":  reported("", "", ""),
			"injected":           reported("container web: "+copied+"replace the pod, so that it goes through fairlead-relay", "", ""),
			"on-the-node-asking": reported("", leftOut+onNode, ""),
			"hub-at-443":         reported("container konnectivity-agent: "+copied+"on its node there is no relay that it could go through", leftOut+onNode, ""),
			"unset-on-its-node":  reported("", leftOut+onNode, "container agent: is to read the proxy from HTTPS_PROXY or https_proxy and has none: it "+onNode),
		}
		controlplanetest.Await(t, "reports by the changed policies", func(ctx context.Context) (bool, error) {
			reports, err := readReports(ctx, c)
			got := map[string]map[string]result{}
			for uid, report := range reports {
				if name := names[uid]; want[name] != nil {
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

// result is one line of a report.
type result struct{ result, message string }

// readReports returns what reports say, by the UID of their pod and by policy.
func readReports(ctx context.Context, c client.Client) (map[string]map[string]result, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "wgpolicyk8s.io", Version: "v1alpha2", Kind: "PolicyReportList"})
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	found := map[string]map[string]result{}
	for _, report := range list.Items {
		uid, _, _ := unstructured.NestedString(report.Object, "scope", "uid")
		results, _, _ := unstructured.NestedSlice(report.Object, "results")
		found[uid] = map[string]result{}
		for _, r := range results {
			fields, _ := r.(map[string]any)
			found[uid][fmt.Sprint(fields["policy"])] = result{fmt.Sprint(fields["result"]), fmt.Sprint(fields["message"])}
		}
		if strings.Contains(fmt.Sprint(report.Object), "S3CRET") {
			return nil, fmt.Errorf("the report %s shows a password", report.GetName())
		}
	}
	return found, nil
}

// reported is what the three policies say of a pod, if anything.
func reported(mend, watch, agent string) map[string]result {
	or := func(kind, message string) result {
		if message == "" {
			return result{"pass", "success"}
		}
		return result{kind, message}
	}
	return map[string]result{"audit-proxy-env": or("fail", mend), "audit-proxy-unreached": or("warn", watch), "audit-tunnels": or("fail", agent)}
}

func asksAboutPods(webhook admissionv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(webhook.Rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.Resources, func(resource string) bool { return resource == "*" || strings.HasPrefix(resource, "pods") })
	})
}

// createPod creates it once its namespace has its service account.
func createPod(t *testing.T, clients kubernetes.Interface, pod corev1.Pod) (created *corev1.Pod) {
	t.Helper()
	controlplanetest.Await(t, "the pod "+pod.Name, func(ctx context.Context) (done bool, err error) {
		created, err = clients.CoreV1().Pods(pod.Namespace).Create(ctx, &pod, metav1.CreateOptions{})
		return err == nil, err
	})
	return created
}
