package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/core/wiring"
)

const (
	wirePaths    = "/apis/%s/namespaces/org/%s"
	wireCluster  = `{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c1", "namespace": "org", "uid": "u1"}, "spec": {"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}}}`
	wireCP       = `{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "cp", "namespace": "org", "uid": "u2"}, "spec": {"kubeadmConfigSpec": {"users": [{"passwd": "S3CRET"}]}}, "status": {"replicas": 3}}`
	wireReport   = `{"apiVersion": "fairlead.io/v1alpha1", "kind": "ProxyReport", "metadata": {"name": "c1", "namespace": "org"}, "status": {"proxyName": "corp", "conditions": [{"type": "Ready", "status": "True", "reason": "Applied"}]}}`
	wireProxy    = `{"apiVersion": "fairlead.io/v1alpha1", "kind": "CorporateProxy", "metadata": {"name": "corp"}, "spec": {"source": {"valuesRef": {"name": "corp"}}, "node": {"files": ["EnvironmentFile"], "base64Twins": true}}}`
	wireDeployed = `{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "fairlead-deliver", "namespace": "fairlead-system"}}`
)

// wireServer is an API server that merges labels into what it has and, as the policy does, adds a file. The tests in
// e2e/clusterapi have real ones.
type wireServer struct {
	lists   map[string][]string
	refuse  func(path string) (status int, body string)
	patches []string // what was sent
}

func newWireServer() *wireServer {
	return &wireServer{lists: map[string][]string{
		fmt.Sprintf(wirePaths, "cluster.x-k8s.io/v1beta2", "clusters"):                                 {wireCluster},
		fmt.Sprintf(wirePaths, "controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes"):        {wireCP},
		fmt.Sprintf(wirePaths, "fairlead.io/v1alpha1", "proxyreports"):                                 {wireReport},
		"/apis/fairlead.io/v1alpha1/corporateproxies":                                                  {wireProxy},
		strings.Replace(fmt.Sprintf(wirePaths, "apps/v1", "deployments"), "org", "fairlead-system", 1): {wireDeployed},
	}}
}

func (s *wireServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPatch {
		there := s.lists
		if r.URL.Query().Get("labelSelector") != "" {
			there = nil // no other Cluster has the label
		}
		lists(there)(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.patches = append(s.patches, fmt.Sprintf("%s %s?%s %s", r.Header.Get("Content-Type"), r.URL.Path, r.URL.RawQuery, body))
	w.Header().Set("Content-Type", "application/json")
	if s.refuse != nil {
		if status, text := s.refuse(r.URL.Path); status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return
		}
	}
	list, name := r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	at := slices.IndexFunc(s.lists[list], func(text string) bool {
		return strings.Contains(text, `"name": "`+name+`"`) || strings.Contains(text, `"name":"`+name+`"`)
	})
	var object, applied map[string]any
	_ = json.Unmarshal([]byte(s.lists[list][at]), &object)
	_ = json.Unmarshal(body, &applied)
	object["metadata"].(map[string]any)["labels"] = applied["metadata"].(map[string]any)["labels"]
	if object["kind"] == "KubeadmControlPlane" {
		object["spec"].(map[string]any)["kubeadmConfigSpec"].(map[string]any)["files"] = []any{map[string]any{
			"path": "/etc/fairlead/proxy.env", "contentFrom": map[string]any{"secret": map[string]any{"name": "c1-systemd-proxy", "key": "environmentFile.base64"}},
		}}
	}
	text, _ := json.Marshal(object)
	if r.URL.Query().Get("dryRun") == "" {
		s.lists[list][at] = string(text)
	}
	_, _ = w.Write(text)
}

func runWire(t *testing.T, s *wireServer, args ...string) (status int, out, errs string) {
	t.Helper()
	recorded, kubeconfig := newServer(t, s.ServeHTTP)
	var stdout, stderr bytes.Buffer
	status = cli.Run(append([]string{"wire", "c1", "-n", "org", "--kubeconfig", kubeconfig}, args...), nil, &stdout, &stderr)
	for _, path := range recorded.asked {
		if strings.Contains(path, "secret") {
			t.Errorf("it asks for %s", path)
		}
	}
	if out, errs = stdout.String(), stderr.String(); strings.Contains(out+errs, "S3CRET") {
		t.Errorf("a password is shown: %s%s", out, errs)
	}
	return status, out, errs
}

const wireShown = `Change  Cluster c1: Cluster API is to bring the Secret fairlead-source
  + metadata.labels[fairlead.io/cluster]: c1
Change  KubeadmControlPlane cp: inject-node-files is to add the files; its machines are replaced: 3
  + metadata.labels[cluster.x-k8s.io/cluster-name]: c1
  + metadata.labels[fairlead.io/node-files]: inject
  + spec.kubeadmConfigSpec.files: /etc/fairlead/proxy.env from Secret c1-systemd-proxy, environmentFile.base64

Remains: This does not look into workload clusters. Unless it is there, install fairlead-policies in this one, with source.existing=true (docs/how-to/software.md).
`

func TestWireShowsThenWritesThenHasNothingToDo(t *testing.T) {
	s := newWireServer()
	status, out, errs := runWire(t, s)
	if status != 1 || out != wireShown || errs != "" {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	for _, patch := range s.patches {
		if !strings.HasPrefix(patch, "application/apply-patch+yaml /apis/") || !strings.Contains(patch, "dryRun=All&fieldManager=fairlead-cli&force=false ") ||
			!strings.Contains(patch, `"uid":"u`) || strings.Contains(patch, `"spec"`) {
			t.Errorf("it sends %s", patch)
		}
	}
	s.patches = nil
	status, out, errs = runWire(t, s, "--yes")
	if want := wireShown + "Cluster c1 labeled\nKubeadmControlPlane cp labeled\n"; status != 0 || out != want || errs != "" || len(s.patches) != 4 {
		t.Errorf("status %d, %d patches, %s\n%s", status, len(s.patches), errs, out)
	}
	s.patches = nil
	for _, args := range [][]string{nil, {"--yes"}} {
		status, out, errs = runWire(t, s, args...)
		if status != 0 || strings.Contains(out, "Change") || strings.Contains(out, "labeled") || len(s.patches) != 0 {
			t.Errorf("%q: status %d, %q, %s\n%s", args, status, s.patches, errs, out)
		}
	}
}

func TestWireSaysWhichPartIsLeft(t *testing.T) {
	s := newWireServer()
	status, out, _ := runWire(t, s, "--machines=false", "-o", "json", "--yes")
	var r wiring.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || len(r.Objects) != 1 || !r.Objects[0].Written {
		t.Errorf("status %d, %v\n%s", status, err, out)
	}
	conflict := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "message": "conflict with \"kustomize\": .metadata.labels",
 "details": {"causes": [{"reason": "FieldManagerConflict", "field": ".metadata.labels", "message": "conflict with \"kustomize\""}]}}`
	invalid := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "message": "spec.users: Invalid value: S3CRET",
 "details": {"causes": [{"reason": "FieldValueInvalid", "field": "spec.users", "message": "Invalid value: S3CRET"}]}}`
	for body, want := range map[string]string{conflict: "kustomize", invalid: "invalid: spec.users (FieldValueInvalid)"} {
		s = newWireServer()
		s.refuse = func(string) (int, string) {
			if body == conflict {
				return http.StatusConflict, body
			}
			return http.StatusUnprocessableEntity, body
		}
		if status, out, errs := runWire(t, s, "--data=false"); status != 0 || !strings.Contains(out, "Left  KubeadmControlPlane cp") || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s\n%s", want, status, errs, out)
		}
	}
}

// 1 is an answer.
func TestAnErrorOfWireIsStatus2(t *testing.T) {
	forbidden := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "User cannot patch resource"}`
	for name, test := range map[string]struct {
		args   []string
		change func(*wireServer)
		want   string
	}{
		"no Cluster": {nil, func(s *wireServer) { s.lists = nil }, "there is no Cluster c1 in the namespace org"},
		"no right": {nil, func(s *wireServer) {
			s.refuse = func(string) (int, string) { return http.StatusForbidden, forbidden }
		}, "you need the right to patch clusters.cluster.x-k8s.io in the namespace org"},
		"a template that changes meanwhile": {[]string{"--yes"}, func(s *wireServer) {
			s.refuse = func(string) (int, string) {
				if len(s.patches) < 4 {
					return 0, ""
				}
				return http.StatusConflict, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "message": "uid mismatch"}`
			}
		}, "run this again"},
		"nothing is asked for": {[]string{"--data=false", "--machines=false"}, func(*wireServer) {}, "leave nothing to do"},
		"no such output":       {[]string{"-o", "wide"}, func(*wireServer) {}, "-o is one of"},
	} {
		s := newWireServer()
		test.change(s)
		if status, out, errs := runWire(t, s, test.args...); status != 2 || !strings.Contains(errs, test.want) {
			t.Errorf("%s: status %d, %s\n%s", name, status, errs, out)
		}
	}
}
