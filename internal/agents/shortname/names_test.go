package shortname_test

import (
	"slices"
	"testing"
)

func configMap(data string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: shop}\ndata: {" + data + "}\n"
}

// found fails where s3cret is said.
func TestNoPartOfAPasswordIsTakenForAService(t *testing.T) {
	for name, test := range map[string]struct {
		container string
		want      []string
	}{
		"an @ in it":              {`args: ["--url=http://user:top@s3cret@redis.example.com:80"]`, nil},
		"an @ in a Service's":     {`args: ["http://u:x@s3cret@redis:6379"]`, []string{"Warning redis"}},
		"a slash in it":           {`args: ["https://s3cret:x/y@redis"]`, []string{"Warning redis"}},
		"a slash and other hosts": {`args: ["https://u:x/y@s3cret", "https://u:x?y@s3cret/"]`, nil},
		"another URL in it":       {`args: ["https://u:http://s3cret@redis"]`, []string{"Warning redis"}},
		"a flag":                  {`args: ["--password=s3cret:2024", --api-token, "http://s3cret", "s3cret:1"]`, nil},
		"a variable":              {`env: [{name: DB_PASSWORD, value: "s3cret:12345"}, {name: API_KEY, value: "http://s3cret/ https://s3cret"}]`, nil},
		"a Service's name":        {`env: [{name: DB_PASSWORD, value: "redis:6379"}, {name: AUTH_SECRET, value: "http://redis"}]`, nil},
		"in a shell":              {`command: [sh, -c, "TOKEN=http://s3cret run --pass http://s3cret -u http://redis"]`, []string{"Warning redis"}},
		"from a ConfigMap":        {`envFrom: [{configMapRef: {name: m}}]`, nil},
		"the address of tokens":   {`env: [{name: TOKEN_URL, value: "http://redis/token"}]`, []string{"Warning redis"}},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := pod("", "", test.container) + redis + configMap(`db.password: "http://s3cret"`)
			if got := shortNamesIn(t, manifests, cluster); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestWhereAServiceIsNamed(t *testing.T) {
	const ofMap = `envFrom: [{prefix: A_, configMapRef: {name: m}}]`
	for name, test := range map[string]struct {
		manifests string
		want      []string
	}{
		"a source":                     {pod("", "", ofMap) + configMap(`redis.server: "redis:6379"`) + redis, []string{"Warning redis"}},
		"a source, where a host is":    {pod("", "", ofMap) + configMap(`HOST: redis`) + redis, []string{"Warning redis"}},
		"a source that env overrides":  {pod("", "", ofMap+`, env: [{name: A_HOST, value: a.example}]`) + configMap(`HOST: redis`) + redis, nil},
		"a shell's word":               {pod("", "", `command: [sh, -c, "exec run --redis 'redis:6379' --x; REDIS_HOST=redis run"]`) + redis, []string{"Warning redis"}},
		"a shell's flag":               {pod("", "", `args: ["run --redis-host redis --name redis"]`) + redis, []string{"Warning redis"}},
		"options in a variable":        {pod("", "", `env: [{name: OPTS, value: "--redis-server=redis -v"}]`) + redis, []string{"Warning redis"}},
		"a host and its port":          {pod("", "", `args: ["http://redis:$(PORT)/"]`), []string{"Warning redis"}},
		"several URLs":                 {pod("", "", `args: ["http://redis,http://other"]`), []string{"Warning redis other"}},
		"a name that a variable is in": {pod("", "", `args: ["http://redis$(N)/", "http://redis_x/"]`), nil},
		"its own name":                 {pod("", "", `env: [{name: OTEL_SERVICE_NAME, value: redis}, {name: DD_SERVICE, value: redis}]`) + redis, nil},
		"words with a number":          {pod("", "", `args: ["busybox:1", "--feature=foo:1", "hunter:2024", sh, -c, "run foo:1"]`), nil},
		"beside a Service":             {pod("", "", `args: ["busybox:1", "--feature=foo:1", "hunter:2024"]`) + redis, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shortNamesIn(t, test.manifests, cluster); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAContainerWithAListOfItsOwnHasAProxyOnlyIfItSetsOne(t *testing.T) {
	const annotated = ", annotations: {fairlead.io/no-proxy: other}"
	const asks, source = `{name: A, value: "http://redis"}`, `envFrom: [{configMapRef: {name: m}}], env: [{name: A, value: "http://redis"}]`
	for name, test := range map[string]struct {
		manifests string
		want      []string
	}{
		"a list":                  {pod("", "", `env: [{name: NO_PROXY, value: x.example}, `+asks+`]`), nil},
		"a list that is not seen": {pod("", "", `env: [{name: no_proxy, valueFrom: {secretKeyRef: {name: s, key: k}}}, `+asks+`]`), nil},
		"two, one of which asks":  {pod("", "", `env: [{name: NO_PROXY, value: "$(FAIRLEAD_NO_PROXY)"}, {name: no_proxy, value: x}, `+asks+`]`), nil},
		"another proxy":           {pod("", "", `env: [{name: ALL_PROXY, value: "socks5://x:1"}, `+asks+`]`), nil},
		"and a proxy":             {pod("", "", `env: [{name: HTTP_PROXY, value: "http://x:1"}, {name: NO_PROXY, value: x.example}, `+asks+`]`), []string{"Warning redis"}},
		"that has it":             {pod("", "", `env: [{name: HTTP_PROXY, value: "http://x:1"}, {name: NO_PROXY, value: redis}, `+asks+`]`), nil},
		"from a ConfigMap":        {pod("", "", `env: [{name: HTTP_PROXY, value: x}, {name: NO_PROXY, valueFrom: {configMapKeyRef: {name: m, key: k}}}, `+asks+`]`) + configMap("k: redis"), nil},
		"by a source":             {pod("", "", source) + configMap("NO_PROXY: x.example"), []string{"Warning redis"}},
		"by a source, that does":  {pod("", "", source) + configMap("NO_PROXY: redis"), nil},
		"below the pod's":         {pod(annotated, "", source) + configMap("NO_PROXY: redis"), []string{"Warning redis"}},
		"a proxy by a source":     {pod("", "hostNetwork: true, ", source) + configMap(`HTTPS_PROXY: "http://x:1"`), []string{"Warning redis"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shortNamesIn(t, test.manifests, cluster); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
