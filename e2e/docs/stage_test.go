package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

const root = "../.."

// programs puts what pages call into one folder, for the PATH.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	controlplanetest.Require(t, tools.Link(t.Context(), dir, os.Stderr))
	return dir
}

// checkout is a copy of the repository, as somebody has it who reads the page.
func checkout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fairlead")
	controlplanetest.Require(t, os.Mkdir(dir, 0o755))
	script := "tar -C " + root + " --exclude=./.git --exclude=./.cache --exclude=./dist -c . | tar -C " + dir + " -x"
	if output, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("copy the repository: %v\n%s", err, output)
	}
	return dir
}

// notOfTheCheckout reports whether a folder has what git keeps, or what make builds.
func notOfTheCheckout(path string) bool {
	return path == ".git" || path == ".cache" || path == "dist"
}

// startCluster starts what a page runs on: a management cluster with the kinds of Cluster API, and nodes that run what
// Fairlead deploys. It plays the workload cluster, too.
func startCluster(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{Content: []controlplane.Content{controlplane.ClusterAPI}})
	controlplanetest.Require(t, cp.Install(t.Context(), controlplane.ClusterAPI))
	controlplanetest.Require(t, cp.Install(t.Context(), controlplane.AWSCluster))
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.GarbageCollector, controlplane.NamespaceDeletion,
		controlplane.ClusterRoleAggregation, controlplane.ServiceAccounts))
	operator := controlplanetest.Program(t, "fairlead-operator")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- deployment.RunNode(ctx, cp, operator, "--leader-elect=false") }() // a lease of one that ended would be waited for
	t.Cleanup(func() { cancel(); controlplanetest.Require(t, <-ended) })
	return cp
}

// demo is the state that make demo leaves: Fairlead and two clusters, and nothing of the pages before.
const demo = `
kubectl delete proxyoverrides --all --all-namespaces 2>/dev/null || true # there may be no such kind
kubectl delete corporateproxies --field-selector metadata.name!=default 2>/dev/null || true
helm uninstall fairlead-policies --namespace fairlead-system --ignore-not-found
kubectl delete namespace shop my-shop --ignore-not-found
kubectl delete secrets --all-namespaces --field-selector metadata.name=fairlead-proxy
kubectl delete daemonset konnectivity-agent --namespace kube-system --ignore-not-found
kubectl apply -f e2e/docs/fleet.yaml
kubectl delete machines,kubeadmcontrolplanes --all --namespace org-acme
kubectl delete clusters --namespace org-acme --field-selector metadata.name!=mycluster,metadata.name!=frankfurt
helm status fairlead --namespace fairlead-system >/dev/null 2>&1 || kubectl delete clusterrole fairlead-provider-facts --ignore-not-found
helm upgrade --install fairlead charts/fairlead --namespace fairlead-system --create-namespace --values examples/secret-values.yaml \
  --set 'corporateProxy.spec.replaces={corp,frankfurt}' --wait
kubectl wait corporateproxy default --for condition=Ready --timeout 60s
kubectl wait proxyreports mycluster frankfurt --namespace org-acme --for create --timeout 60s
kubectl wait proxyreports mycluster frankfurt --namespace org-acme --for condition=Ready --timeout 60s`

func environment(t *testing.T, path, kubeconfig string) []string {
	t.Helper()
	home := t.TempDir()
	return []string{
		"PATH=" + path + ":" + os.Getenv("PATH"), "HOME=" + home, "KUBECONFIG=" + kubeconfig, "LANG=C.UTF-8", "TZ=UTC",
		"GOBIN=" + path, "GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"),
		"GOFLAGS=" + goEnv(t, "GOFLAGS"), "CGO_ENABLED=" + goEnv(t, "CGO_ENABLED"), // what is compiled already
		"GOPROXY=" + goEnv(t, "GOPROXY"), "GOSUMDB=" + goEnv(t, "GOSUMDB"),
	}
}

func (r *run) String() string {
	return fmt.Sprintf("%d blocks run (%d outputs compared), %d blocks not run", r.blocks, r.compared, len(r.notRun))
}
