// Package internal_test holds the walls between the folders, as ordinary tests: docs/explanation/decisions.md says why
// (0018).
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fairlead-io/fairlead/"

// mayImport says for each folder which of ours it may import. Everything may import itself, and what is not named here
// (charts and policies, which only embed files; version).
var mayImport = map[string][]string{
	"noproxy":            {},
	"internal/core":      {"noproxy", "api"},
	"internal/write":     {"internal/core", "api"},
	"internal/health":    {},
	"internal/manager":   {"internal/write", "internal/health", "internal/core", "noproxy", "api"},
	"internal/workload":  {"internal/agents", "internal/write", "internal/health", "internal/core", "noproxy"},
	"internal/agents":    {"internal/core", "noproxy"},
	"internal/cli":       {"internal/agents", "internal/write", "internal/core", "internal/workload", "noproxy", "api"},
	"internal/reference": {"internal/manager", "internal/workload"},
	"charts/gen":         {"internal/core"},
	"operator/cmd":       {"internal/cli", "internal/manager", "internal/workload"},
	"api":                {},
}

// The pure folders decide, and render the decisions. The programs, the command line and the tests call them alike. That
// works only while they know of no cluster, file, network, clock or log.
var pureFolders = []string{"./noproxy/...", "./internal/core/...", "./internal/agents/tunnel", "./internal/agents/password"}

// ofKinds take objects of Kubernetes apart, and know their types.
var ofKinds = []string{
	"internal/core/bundle", "internal/core/delivery",
	"internal/core/diagnosis", "internal/core/document", "internal/cli/fleet", "internal/core/importing", "internal/core/inputs", "internal/core/observation", "internal/core/picture", "internal/core/picture/picturetest",
	"internal/core/proxysecret", "internal/core/revision", "internal/core/rollout", "internal/core/wiring",
}

// Everything from outside the standard library that they may depend on, at any
// depth: the reason for each is in the package that imports it.
var pureMayUse = []string{
	"golang.org/x/net/idna", "golang.org/x/net/publicsuffix", "golang.org/x/text/",
	"sigs.k8s.io/yaml", "sigs.k8s.io/json", "go.yaml.in/yaml/", "github.com/pelletier/go-toml/v2",
	module + "templates/systemd",
}

// The Butane library, and what it is made of. It compiles helpers of its own tests
// in, and with them testify.
var butane = []string{
	"github.com/coreos/butane", "github.com/coreos/ignition/v2/config", "github.com/coreos/vcontext", "github.com/coreos/go-json",
	"github.com/coreos/go-semver/semver", "github.com/coreos/go-systemd/v22/unit", "github.com/clarketm/json", "github.com/vincent-petithory/dataurl",
	"github.com/stretchr/testify", "gopkg.in/yaml.v3",
}

// What they may not import themselves. A library below them may: encoding/json
// needs time, and log/slog needs os.
var pureMayNotImport = []string{
	"context", "log", "log/slog", "net", "net/http", "os", "os/exec", "os/signal", "syscall", "time", "math/rand", "math/rand/v2", "crypto/rand", "unsafe", "html/template",
}

// What no library below them may import either. (publicsuffix has net/http below
// it, for the type of its list.)
var librariesMayNotImport = []string{"net", "net/http", "os/exec", "html/template"}

// exceptions are imports that are allowed after all.
var exceptions = map[string][]string{
	// It has a LogValue, so that a log shows no password.
	module + "internal/core/proxyurl": {"log/slog"},
	// They compare times that they are given.
	module + "internal/core/proxysecret":         {"time"},
	module + "internal/core/rollout":             {"time"},
	module + "internal/core/probe":               {"time"},
	module + "internal/core/observation":         {"time"},
	module + "internal/core/delivery":            {"time"},
	module + "internal/core/diagnosis":           {"time"},
	module + "internal/core/inputs":              {"time"},
	module + "internal/cli/fleet":                {"time"},
	module + "internal/core/lint":                {"time"},
	module + "internal/core/picture":             {"time"},
	module + "internal/core/picture/picturetest": {"time"},
	// It makes certificates for tests.
	module + "internal/core/cabundle/cabundletest": {"time", "crypto/rand"},
	// It writes HTML, and nothing else does.
	module + "noproxy/explain/page": {"html/template"},
	// Below Butane, for http.Header, http.DetectContentType and assertions about
	// handlers. It reads files (package os) where a config names local ones; what
	// internal/core/render/ignition hands to it cannot.
	"github.com/coreos/ignition/v2/config/v3_3/types": {"net/http"},
	"github.com/vincent-petithory/dataurl":            {"net/http"},
	"github.com/stretchr/testify/assert":              {"net/http"},
}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	GoFiles    []string
	Dir        string
}

// list asks the go command for packages.
func list(t *testing.T, arguments ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,GoFiles,Dir"}, arguments...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	var packages []listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// below tells whether the path is one of these, or below one.
func below(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/")
	})
}

// folder returns the first folders of a path, as mayImport has them.
func folder(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	if first != "internal" && first != "operator" && path != "charts/gen" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return first + "/" + second
}

func TestFoldersImportOnlyWhatIsBelowThem(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		from := folder(strings.TrimPrefix(p.ImportPath, module))
		seen[from] = true
		for _, path := range p.Imports {
			path, ours := strings.CutPrefix(path, module)
			to := folder(path)
			if _, walled := mayImport[to]; !ours || !walled || to == from {
				continue
			}
			if !slices.Contains(mayImport[from], to) {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
	for name := range mayImport {
		if !seen[name] {
			t.Errorf("%s is not there: has it been renamed?", name)
		}
	}
}

// isPure tells of one of ours whether it is in a pure folder.
func isPure(path string) bool {
	return slices.ContainsFunc(pureFolders, func(f string) bool {
		return below(path, []string{strings.TrimSuffix(strings.TrimPrefix(f, "./"), "/...")})
	})
}

// breaches returns the violations of one package in the dependencies of the pure ones.
func breaches(p listed) []string {
	var found []string
	path, _ := strings.CutPrefix(p.ImportPath, module)
	ours := isPure(path)
	if !p.Standard && !ours && !below(p.ImportPath, pureMayUse) && !below(p.ImportPath, butane) {
		found = append(found, "the pure packages reach "+p.ImportPath)
	}
	forbidden := pureMayNotImport
	switch {
	case p.Standard:
		return nil
	case !ours:
		forbidden = librariesMayNotImport
	}
	for _, path := range p.Imports {
		if slices.Contains(forbidden, path) && !slices.Contains(exceptions[p.ImportPath], path) {
			found = append(found, p.ImportPath+" imports "+path)
		}
	}
	return found
}

func TestThePurePackagesDependOnNothingThatIsNotPure(t *testing.T) {
	arguments := []string{"-deps"}
	for _, p := range list(t, pureFolders...) {
		if path := strings.TrimPrefix(p.ImportPath, module); !slices.Contains(ofKinds, path) {
			arguments = append(arguments, "./"+path)
			continue
		}
		for _, breach := range breaches(p) { // not of what is below them
			t.Error(breach)
		}
	}
	packages := list(t, arguments...)
	for _, p := range packages {
		for _, breach := range breaches(p) {
			t.Error(breach)
		}
	}
	if len(packages) < 20 {
		t.Errorf("there are %d packages: the search is blind", len(packages))
	}
}

func TestTheWallAroundThePurePackagesStops(t *testing.T) {
	for name, test := range map[string]struct {
		p    listed
		want int
	}{
		"a Kubernetes library":                  {listed{ImportPath: "k8s.io/apimachinery/pkg/labels"}, 1},
		"controller-runtime":                    {listed{ImportPath: "sigs.k8s.io/controller-runtime/pkg/client"}, 1},
		"a package of ours that is not pure":    {listed{ImportPath: module + "internal/write/apply"}, 1},
		"one that only starts like an allowed":  {listed{ImportPath: "sigs.k8s.io/yamlfmt"}, 1},
		"a web client below":                    {listed{ImportPath: "sigs.k8s.io/yaml", Imports: []string{"net/http"}}, 1},
		"a web client in Butane's family":       {listed{ImportPath: "github.com/coreos/butane/config/util", Imports: []string{"os", "net/http"}}, 1},
		"a newer Butane, in all its variants":   {listed{ImportPath: "github.com/aws/aws-sdk-go-v2/aws/arn"}, 1},
		"not the header in Ignition's types":    {listed{ImportPath: "github.com/coreos/ignition/v2/config/v3_3/types", Imports: []string{"net/http"}}, 0},
		"a clock":                               {listed{ImportPath: module + "internal/core/resolve", Imports: []string{"time"}}, 1},
		"a context and a file":                  {listed{ImportPath: module + "internal/core/render", Imports: []string{"context", "os", "fmt"}}, 2},
		"a log, where none is":                  {listed{ImportPath: module + "internal/core/render", Imports: []string{"log/slog"}}, 1},
		"not the log that is the exception":     {listed{ImportPath: module + "internal/core/proxyurl", Imports: []string{"log/slog"}}, 0},
		"not a clock in a library":              {listed{ImportPath: "go.yaml.in/yaml/v2", Imports: []string{"time"}}, 0},
		"not what is pure":                      {listed{ImportPath: module + "noproxy", Imports: []string{"net/netip", "strings"}}, 0},
		"not the parser of the standard packet": {listed{ImportPath: "encoding/json", Standard: true, Imports: []string{"reflect"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if found := breaches(test.p); len(found) != test.want {
				t.Errorf("found %q, want %d", found, test.want)
			}
		})
	}
}

// Whoever can talk to the API server can write to it: apply is the writer,
// controller gets the client from the command and hands it on; cage tries in dry
// runs what must be refused; statuspage reads its caches, and asks who calls. The replicator has a role and rights of its own. The
// command line lists, by package cluster alone.
func TestOnlyTheOperatorHasAKubernetesClient(t *testing.T) {
	clients := []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go"}
	may := []string{"internal/write/apply", "internal/manager/controller", "internal/manager/controller/cluster", "internal/manager/controller/corporateproxy", "internal/manager/controller/decide", "internal/manager/controller/machinery", "internal/manager/controller/machines", "internal/manager/controller/settings", "internal/manager/controller/waves", "internal/manager/deliver", "internal/manager/observe", "internal/manager/statuspage", "internal/health", "internal/write/cage", "internal/workload/replicator", "internal/workload/follow", "internal/workload/probe", "internal/workload/preflight", "operator/cmd/fairlead-operator", "internal/cli/cluster"}
	found := 0
	for _, p := range list(t, "./...") {
		for _, path := range p.Imports {
			client := slices.ContainsFunc(clients, func(c string) bool { return path == c || strings.HasPrefix(path, c+"/") })
			// The scheme builder only registers types, and templates only take data apart.
			if !client || path == "sigs.k8s.io/controller-runtime/pkg/scheme" || path == "k8s.io/client-go/util/jsonpath" {
				continue
			}
			if found++; !slices.Contains(may, strings.TrimPrefix(p.ImportPath, module)) {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
	if found == 0 {
		t.Error("nobody imports a client: the search is blind")
	}
}

// writes are the methods by which clients write, or read one object.
var writes = []string{"Create", "Update", "UpdateStatus", "Patch", "Apply", "ApplyStatus", "Delete", "DeleteAllOf", "DeleteCollection"}

// calls returns how often a package calls methods of these names with a context, other than those of package apply.
func calls(t *testing.T, dir string, names []string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files in %s", dir)
	}
	found := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || identifier(call.Args[0]) != "ctx" {
				return true
			}
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(names, method.Sel.Name) && identifier(method.X) != "apply" {
				found[method.Sel.Name]++
			}
			return true
		})
	}
	return found
}

// identifier returns the name if the expression is only a name.
func identifier(e ast.Expr) string {
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func TestApplyAloneWrites(t *testing.T) {
	for _, p := range list(t, "./internal/...", "./noproxy/...", "./operator/...") {
		path := strings.TrimPrefix(p.ImportPath, module)
		found := calls(t, p.Dir, writes)
		switch {
		case path == "internal/write/apply" && len(found) < 4:
			t.Errorf("%s writes %v: the search is blind", path, found)
		case path == "internal/manager/statuspage" && maps.Equal(found, map[string]int{"Create": 2}): // reviews are created and answered, and not kept
		case path != "internal/write/apply" && len(found) > 0:
			t.Errorf("%s writes beside internal/write/apply: %v", path, found)
		}
	}
}

// The command line runs with the rights of whoever calls it, an administrator's. What it writes is in package apply, too.
func TestTheCommandLineOnlyLists(t *testing.T) {
	if found := calls(t, "cli/cluster", []string{"Get", "Watch"}); len(found) > 0 {
		t.Errorf("it reads otherwise: %v", found)
	}
}

// The allowances for Butane are for one package, which cannot name a local file.
func TestOnlyOnePackageReachesButane(t *testing.T) {
	found := 0
	for _, p := range list(t, "./...") {
		for _, path := range p.Imports {
			if !below(path, butane) {
				continue
			}
			if found++; p.ImportPath != module+"internal/core/render/ignition" {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
	if found == 0 {
		t.Error("nobody imports Butane: the search is blind")
	}
}

// html/template escapes for HTML, which is wrong everywhere else: in a drop-in or
// in YAML a password would arrive as another one. Both packages page write pages.
func TestOnlyPagesAreEscapedForHTML(t *testing.T) {
	found := 0
	for _, p := range list(t, "./...") {
		if !slices.Contains(p.Imports, "html/template") {
			continue
		}
		found++
		if p.ImportPath != module+"noproxy/explain/page" && p.ImportPath != module+"internal/cli/page" {
			t.Errorf("%s imports html/template", p.ImportPath)
		}
	}
	if found == 0 {
		t.Error("nobody imports html/template: the search is blind")
	}
}

// fairlead-relay is in pods of others. x/text is below x/net, and the rest below Prometheus's client library.
func TestTheRelayDependsOnLittle(t *testing.T) {
	ours := []string{
		"operator/cmd/fairlead-relay", "internal/workload/relay", "internal/workload/forward", "internal/workload/upstream", "internal/workload/headers", "internal/workload/healthz", "internal/workload/pipe",
		"internal/version", "internal/core/proxyenv", "internal/core/proxyurl", "internal/core/egress", "noproxy",
	}
	others := []string{
		"golang.org/x/net", "golang.org/x/text", "golang.org/x/sys", "github.com/coreos/go-systemd/v22/activation",
		"github.com/prometheus/", "google.golang.org/protobuf", "github.com/beorn7/perks", "github.com/cespare/xxhash", "github.com/munnerz/goautoneg",
		"sigs.k8s.io/yaml", "go.yaml.in/yaml", "github.com/KimMachineGun/automemlimit", "github.com/pbnjay/memory",
	}
	for _, p := range list(t, "-deps", "./operator/cmd/fairlead-relay") {
		own := slices.Contains(ours, strings.TrimPrefix(p.ImportPath, module))
		if !p.Standard && !own && !below(p.ImportPath, others) {
			t.Errorf("the relay reaches %s", p.ImportPath)
		}
	}
}
