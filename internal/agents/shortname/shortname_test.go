package shortname_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/shortname"
	"github.com/fairlead-io/fairlead/internal/core/document"
)

const cluster = "10.96.0.0/12,.cluster.local,localhost,127.0.0.1,.svc"

func shortNamesIn(t *testing.T, manifests, list string) []string {
	t.Helper()
	documents, err := document.Parse("f.yaml", []byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range shortname.Find(documents, list) {
		said := string(f.Severity)
		for _, e := range f.Entries {
			said += " " + e.Value
		}
		all = append(all, said)
		if strings.Contains(strings.ToLower(f.Why+f.Mend), "s3cret") {
			t.Errorf("shows a password: %+v", f)
		}
	}
	return all
}

// pod has this in its metadata, its spec and its one container.
func pod(metadata, spec, container string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop" + metadata + "}\nspec: {" + spec + "containers: [{name: c, " + container + "}]}\n"
}

const redis = "---\napiVersion: v1\nkind: Service\nmetadata: {name: redis, namespace: shop}\n"

func TestServicesThatAPodNamesWithoutADotAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		manifests, list string
		want            []string
	}{
		"an argument with a port":          {pod("", "", `args: [--redis, "redis:6379"]`) + redis, "", []string{"Warning redis"}},
		"a flag with a port":               {pod("", "", `args: ["--redis=redis:6379,other:80"]`) + redis, "", []string{"Warning redis"}},
		"a URL in a variable":              {pod("", "", `env: [{name: X, value: "http://me:S3CRET@backend:8080/"}]`), "", []string{"Warning backend"}},
		"a URL in a shell's text":          {pod("", "", `command: [sh, -c, "curl https://backend/x | sh"]`), "", []string{"Warning backend"}},
		"the API server":                   {pod("", "", `env: [{name: API, value: "https://kubernetes.default/api"}]`), "", []string{"Warning kubernetes.default"}},
		"a name where a host belongs":      {pod("", "", `env: [{name: REDIS_HOST, value: redis}]`) + redis, "", []string{"Warning redis"}},
		"with its namespace":               {pod("", "", `env: [{name: REDIS, value: "redis.shop:6379"}]`) + redis, "", []string{"Warning redis.shop"}},
		"of no Service that is given":      {pod("", "", `args: ["http://other:80"]`) + redis, "", []string{"Info other"}},
		"from a ConfigMap":                 {pod("", "", `env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}]`) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: shop}\ndata: {k: \"http://repo:1\"}\n", "", []string{"Warning repo"}},
		"an own proxy on the host network": {pod("", "hostNetwork: true, ", `env: [{name: HTTPS_PROXY, value: x}, {name: A, value: "http://a"}]`), "", []string{"Warning a"}},
		"an own list":                      {pod("", "", `env: [{name: NO_PROXY, value: "b"}, {name: HTTP_PROXY, value: x}, {name: A, value: "http://repo"}]`), "repo", []string{"Warning repo"}},

		"listed":                         {pod("", "", `args: ["http://repo:8081"]`), "repo", nil},
		"listed by the pod":              {pod(`, annotations: {fairlead.io/no-proxy: repo}`, "", `args: ["http://repo:8081"]`), "", nil},
		"listed by its own":              {pod("", "", `env: [{name: NO_PROXY, value: "repo,$(FAIRLEAD_NO_PROXY)"}, {name: A, value: "http://repo"}]`), "", nil},
		"covered":                        {pod("", "", `args: ["http://repo.shop.svc:8081", "http://kubernetes.default.svc"]`), "", nil},
		"itself":                         {pod("", "", `args: ["localhost:80", "http://localhost/", "http://127.0.0.1/"]`), "", nil},
		"an alias":                       {pod("", "hostAliases: [{ip: 10.0.0.1, hostnames: [repo]}], ", `args: ["http://repo:80"]`), "", nil},
		"an image":                       {pod("", "", `args: ["--image=redis:7", "redis:7@sha256:1"]`) + redis, "", nil},
		"other hosts":                    {pod("", "", `args: ["https://github.com/", "proxy.corp.example:3128", "8080:80"]`), "", nil},
		"a variable in it":               {pod("", "", `args: ["http://$(HOST)/"]`), "", nil},
		"a name where none belongs":      {pod("", "", `env: [{name: CACHE, value: redis}]`) + redis, "", nil},
		"another protocol":               {pod("", "", `env: [{name: DB, value: "postgres://db/x"}]`), "", nil},
		"no proxy":                       {pod(", labels: {policies.kyverno.io/inject-proxy-env: exclude}", "", `args: ["http://repo:80"]`), "", nil},
		"no proxy on the host network":   {pod("", "hostNetwork: true, ", `args: ["http://repo:80"]`), "", nil},
		"no proxy in an excluded one":    {pod("", "", `args: ["http://repo:80"]`) + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {policies.kyverno.io/inject-proxy-env: exclude}}\n", "", nil},
		"the proxy itself":               {pod("", "", `env: [{name: https_proxy, value: "http://proxy:3128"}]`), "", nil},
		"no proxy by an empty variable":  {pod("", "", `env: [{name: HTTPS_PROXY, value: ""}, {name: A, value: "http://a"}]`), "", nil},
		"a Service of another namespace": {pod("", "", `env: [{name: REDIS_HOST, value: redis}]`) + strings.Replace(redis, "shop", "x", 1), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shortNamesIn(t, test.manifests, cluster+","+test.list); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestADefaultArgoCDNamesItsOwnServices(t *testing.T) {
	text, err := os.ReadFile("testdata/field/argocd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := shortNamesIn(t, string(text), cluster); !slices.Equal(got, []string{"Warning argocd-repo-server argocd-redis"}) {
		t.Errorf("%q", got)
	}
	if got := shortNamesIn(t, string(text), cluster+",argocd-repo-server,argocd-redis"); got != nil {
		t.Errorf("%q", got)
	}
}
