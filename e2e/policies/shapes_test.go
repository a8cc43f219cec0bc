package policies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// shapes are specs of pods with much else in them, none of it a proxy setting, or written oddly. A webhook that did not
// know a field of this API server would lose it.
var shapes = map[string]string{
	"references": `
containers:
- name: web
  image: web
  env:
  - {name: FILE, valueFrom: {fileKeyRef: {volumeName: files, path: env, key: FILE, optional: true}}}
  - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
  - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
volumes: [{name: files, emptyDir: {}}]`,
	"resources": `
resources: {requests: {cpu: 100m}, limits: {cpu: 1, memory: 128Mi}}
resourceClaims: [{name: device, resourceClaimName: device}]
containers:
- name: web
  image: web
  resources: {limits: {cpu: "0.1", memory: 1e3}, claims: [{name: device, request: any}]}
  resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]`,
	"restarts": `
restartPolicy: Never
initContainers:
- {name: sidecar, image: web, restartPolicy: Always, startupProbe: {grpc: {port: 3}}}
containers:
- name: web
  image: web
  restartPolicy: Never
  restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]`,
	"windows": `
os: {name: windows}
hostNetwork: true
nodeSelector: {kubernetes.io/os: windows}
securityContext: {windowsOptions: {hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM"}}
containers: [{name: web, image: web}]`,
	"newer": `
os: {name: linux}
hostUsers: false
hostnameOverride: web.example
schedulingGates: [{name: example.com/gate}]
containers:
- name: web
  image: web
  lifecycle: {stopSignal: SIGUSR1, preStop: {sleep: {seconds: 3}}}
  securityContext: {procMount: Default, appArmorProfile: {type: Unconfined}}
volumes:
- {name: image, image: {reference: web, pullPolicy: Always}}
- {name: claim, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}
- name: projected
  projected:
    sources:
    - {clusterTrustBundle: {name: bundle, path: bundle, optional: true}}
    - {podCertificate: {signerName: example.com/signer, keyType: ED25519, credentialBundlePath: pem}}`,
	"env-null":           "containers: [{name: web, image: web, env: null}]",
	"env-empty":          "containers: [{name: web, image: web, env: []}]",
	"env-from-null":      "{containers: [{name: web, image: web, envFrom: null}], initContainers: null}",
	"init-empty":         "{containers: [{name: web, image: web}], initContainers: [], ephemeralContainers: null}",
	"longest-name":       "containers: [{name: " + strings.Repeat("x", 63) + ", image: web}]",
	"name-of-a-variable": "containers: [{name: containers, image: web}, {name: http-proxy, image: web}]",
	"odd-variables":      `containers: [{name: web, image: web, env: [{name: "a b/~1\"'"}, {name: "http_proxy "}]}]`,
}

// meshed are the specs of the pods in testdata/mesh.
func meshed(t *testing.T) map[string]string {
	t.Helper()
	specs := map[string]string{}
	for _, document := range strings.Split(string(controlplanetest.ReadFile(t, "testdata/mesh/pods.yaml")), "\n---\n")[1:] {
		pod := &corev1.Pod{}
		controlplanetest.Require(t, yaml.UnmarshalStrict([]byte(document), pod))
		spec, err := yaml.Marshal(pod.Spec)
		controlplanetest.Require(t, err)
		specs[pod.Name] = string(spec)
	}
	if len(specs) == 0 {
		t.Fatal("no pods")
	}
	return specs
}

// Of a meshed pod, what an injector has put first stays there, and who came first makes no difference to a container that
// is there for both.
func TestNothingOfAPodIsLost(t *testing.T) {
	all := meshed(t)
	maps.Copy(all, shapes)
	for _, e := range must(t, theCorpus).engines {
		for name, spec := range all {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				want, got := e.mustStore(t, untouched, name, spec), e.mustStore(t, secretRef.namespace(plainNamespace), name, spec)
				for _, one := range everyContainer(&want.Spec) {
					if !want.Spec.HostNetwork && !slices.ContainsFunc(one.Env, func(v corev1.EnvVar) bool { return v.Name == "HTTP_PROXY" }) {
						one.Env = append(one.Env, secretRef.entries("", false)...)
					}
				}
				diff, err := differs(want, got)
				controlplanetest.Require(t, err)
				if diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// mustStore creates a pod of the spec, in which the API server knows every field.
func (e *engine) mustStore(t *testing.T, namespace, name, spec string) *corev1.Pod {
	t.Helper()
	var fields any
	controlplanetest.Require(t, yaml.Unmarshal([]byte(spec), &fields))
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "labels": nil}, "spec": fields})
	controlplanetest.Require(t, err)
	pod := &corev1.Pod{}
	post := e.clients.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").Param("fieldValidation", metav1.FieldValidationStrict)
	controlplanetest.Require(t, post.Body(body).Do(t.Context()).Into(pod))
	return pod
}

// What schedulers, kubelets, autoscalers and people do with a pod that has the variables.
func TestAnInjectedPodIsHandledAsAnyOther(t *testing.T) {
	for _, e := range must(t, theCorpus).engines {
		t.Run(e.name, func(t *testing.T) {
			pod := e.handled(t, "handled")
			for what, err := range e.handle(t.Context(), pod) {
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// handled is an injected pod for handle.
func (e *engine) handled(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	return e.mustStore(t, secretRef.namespace(plainNamespace), name, `{containers: [{name: web, image: web, resources: {requests: {cpu: 10m}}}]}`)
}

// handle does to the pod what there is to do, and returns what came of it.
func (e *engine) handle(ctx context.Context, pod *corev1.Pod) map[string]error {
	pods := e.clients.CoreV1().Pods(pod.Namespace)
	patch := func(subresource, patch string) error {
		_, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresource)
		return err
	}
	// As kubectl debug does.
	debug := func(name string) error {
		return patch("ephemeralcontainers", fmt.Sprintf(`{"spec": {"ephemeralContainers": [{"name": %q, "image": "debug", "targetContainerName": "web"}]}}`, name))
	}
	did := map[string]error{
		"label":        patch("", `{"metadata": {"labels": {"changed": "yes"}}}`),
		"image":        patch("", `{"spec": {"containers": [{"name": "web", "image": "web:2"}]}}`),
		"resize":       patch("resize", `{"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "20m"}}}]}}`),
		"first debug":  debug("first"),
		"second debug": debug("second"),
		"binding": pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node"},
		}, metav1.CreateOptions{}),
		"status": patch("status", `{"status": {"phase": "Running"}}`),
	}
	stored, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	if err == nil {
		err = onlyOurs(stored)
	}
	did["environment"] = err
	did["eviction"] = pods.EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, DeleteOptions: metav1.NewDeleteOptions(0),
	})
	return did
}

// onlyOurs is an error if a container has not exactly the six variables.
func onlyOurs(pod *corev1.Pod) error {
	for _, one := range everyContainer(&pod.Spec) {
		if diff := cmp.Diff(secretRef.entries("", false), one.Env); diff != "" {
			return fmt.Errorf("container %s: %s", one.Name, diff)
		}
	}
	return nil
}

// Since Kubernetes 1.32 nobody should use that annotation; it still works, and comes after all policies.
func TestAServiceAccountThatNamesTheSecretsOfItsPodsMustNameOurs(t *testing.T) {
	tier.Full(t)
	const refusal = `secret.secretName="fairlead-proxy" is not allowed because service account strict does not reference that secret`
	namespace := secretRef.namespace(plainNamespace)
	for _, e := range must(t, theCorpus).engines {
		for account, secrets := range map[string][]corev1.ObjectReference{"strict": nil, "naming": {{Name: policies.Secret}}} {
			t.Run(e.name+"/"+account, func(t *testing.T) {
				meta := metav1.ObjectMeta{Name: account, Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "true"}}
				_, err := e.clients.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta, Secrets: secrets}, metav1.CreateOptions{})
				controlplanetest.Require(t, err)
				pod := webPod(account)
				pod.Spec.ServiceAccountName = account
				err = e.create(t.Context(), namespace, pod)
				if secrets == nil {
					if err == nil || !strings.Contains(err.Error(), refusal) {
						t.Errorf("%v, want %s", err, refusal)
					}
					return
				}
				controlplanetest.Require(t, err)
				controlplanetest.Require(t, onlyOurs(pod))
			})
		}
	}
}
