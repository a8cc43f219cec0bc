package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// numbers are the versions that pages name: how they are written there, and the file and the place that have them. Most of
// ours are in a test of internal/version.
var numbers = []struct{ page, file, place string }{
	{`[^r] Go (1\.\d+)`, "go.mod", `\ngo %s`},
	{`setup-envtest@release-(\d+\.\d+)`, "go.mod", `controller-runtime v%s\.`},
	{`setup-envtest\S* use (\d+\.\d+)\.x`, "e2e/tools/table.go", `kubernetesVersion += "v%s`},
	{`Kubernetes v?(\d+\.\d+\.\d+)`, "e2e/tools/table.go", `kubernetesVersion += "v%s"`},
	{`Kyverno v?(\d+\.\d+\.\d+)`, "e2e/tools/table.go", `kyvernoVersion += "v%s"`},
	{`Cluster API (\d+\.\d+)`, "e2e/tools/table.go", `clusterAPIVersion += "v%s`},
	{`etcd v?(\d+\.\d+\.\d+)`, "e2e/tools/table.go", `"etcd"[^}]*Version: "v%s"`},
	{`\| (?:Kubernetes, |either, )[^|]*\| (\d+\.\d+\.\d+)`, "e2e/tools/table.go", `kubernetesVersion += "v%s"`},
	{`\| Cluster API \| (\d+\.\d+\.\d+)`, "e2e/tools/table.go", `clusterAPIVersion += "v%s"`},
	{`\| Kyverno \| (\d+\.\d+\.\d+)`, "e2e/tools/table.go", `kyvernoVersion += "v%s"`},
	{`\| Helm \| (\d+\.\d+\.\d+)`, "e2e/tools/table.go", `"helm"[^}]*Version: "v%s"`},
	{`\| Flux helm-controller \| (\d+\.\d+\.\d+)`, "e2e/tools/table.go", `"helm-controller"[^}]*Version: "v%s"`},
	{`\| Flux source-controller \| (\d+\.\d+\.\d+)`, "e2e/tools/table.go", `"source-controller"[^}]*Version: "v%s"`},
	{"\\| (1\\.\\d+): ValidatingAdmissionPolicy \\| Helm: `kubeVersion` of charts/fairlead \\|", "charts/fairlead/Chart.yaml", `kubeVersion: ">=%s\.0-0"`},
	{"\\| (1\\.\\d+): ValidatingAdmissionPolicy \\| Helm: `kubeVersion` of charts/fairlead-policies \\|", "charts/fairlead-policies/Chart.yaml", `kubeVersion: ">=%s\.0-0"`},
	{`\| Debian 12 \((\w+)\)`, "e2e/machine/rootfs.go", `const suite = "%s"`},
	{`cluster-proxy v(\d+\.\d+\.\d+)`, "e2e/tools/table.go", `clusterProxyVersion += "v%s"`},
	{`Argo CD v(\d+\.\d+\.\d+)`, "e2e/tools/provider-crds/go.mod", `argo-cd/v3 v%s`},
	{`Talos' own reader, (\d+\.\d+\.\d+)`, "e2e/tools/talos/go.mod", `machinery v%s`},
	{`Istio(?:'s injector \(| )(1\.\d+)`, "e2e/policies/testdata/mesh/pods.yaml", `\(%s in development`},
	{`CycloneDX (\d\.\d)`, "images/bill.go", `SpecVersion%s`},
	{"`-o sarif` \\((\\d\\.\\d\\.\\d)\\)", "internal/cli/lint_sarif.go", `SARIF %s`},
	{"Butane `flatcar` (\\d\\.\\d\\.\\d)", "internal/core/render/ignition/config.go", `Flatcar: +\{"%s"`},
	{"or `fcos`\\s+(\\d\\.\\d\\.\\d)", "internal/core/render/ignition/config.go", `FedoraCoreOS: +\{"%s"`},
	{`kubectl (\d\.\d+) or newer`, "examples/kind/try.sh", `# kubectl %s\n`},
	{"`v(\\d+\\.\\d+\\.\\d+)[+`]", "internal/version/VERSION", `^%s\n`},
	{`gRPC (?:for Go )?(?:from )?(\d+\.\d+)(?: to|\b)`, "noproxy/dialect/grpc_go.go", `Since: "%s"`},
	{`axios from (\d+\.\d+)[, ]`, "noproxy/dialect/axios.go", `\{"%s[.0-9]*", "[^"]*networks`},
	{`grpc-js from (\d+\.\d+)`, "noproxy/dialect/grpc.go", `\{"%s[.0-9]*", "[^"]*networks`},
	{`\.NET from (\d+)`, "noproxy/dialect/dotnet.go", `\{"%s[.0-9]*", "[^"]*networks`},
}

func TestEveryVersionOnAPageIsThatOfItsSource(t *testing.T) {
	text := map[string]string{}
	for _, file := range upToDate(t) {
		text[file] = read(t, file)
	}
	for _, n := range numbers {
		source, found := read(t, n.file), 0
		for file, page := range text {
			for _, m := range regexp.MustCompile(n.page).FindAllStringSubmatch(page, -1) {
				found++
				version := strings.ReplaceAll(m[1], ".", "[._]")
				if !regexp.MustCompile(fmt.Sprintf(n.place, version)).MatchString(source) {
					t.Errorf("%s: %q: %s has another version: mend it, or write what it is (from, since, before) between the name and the number", file, m[0], n.file)
				}
			}
		}
		if found == 0 {
			t.Errorf("no page has %s", n.page)
		}
	}
}

var clientsOf = regexp.MustCompile(`(?i)(?:\ball|\d of|, of|\beach of|\bany of|\bevery one of|\bknows)(?: all)?(?: the| our)? (\d+) clients|\bexplain. knows (\d+)`)

var atTheEnd = regexp.MustCompile(`\d+( clients)?$`)

func TestEveryNumberOfClientsIsHowManyThereAre(t *testing.T) {
	want, found := fmt.Sprint(len(dialect.Clients())), 0
	for _, file := range markdown(t) {
		text := read(t, file)
		mended := clientsOf.ReplaceAllStringFunc(text, func(is string) string {
			found++
			mended := atTheEnd.ReplaceAllString(is, want+"$1")
			if mended != is && os.Getenv("UPDATE") == "" {
				t.Errorf("%s: %q, and there are %s (UPDATE=1 mends it)", file, is, want)
			}
			return mended
		})
		if mended == text || t.Failed() {
			continue
		}
		controlplanetest.Require(t, os.WriteFile(filepath.Join(root, file), []byte(mended), 0o600))
	}
	if found < 3 {
		t.Errorf("only %d found", found)
	}
}
