package observe

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubeconfigWith returns a kubeconfig with these fields of the cluster and the user, each a line.
func kubeconfigWith(cluster, user []string) []byte {
	indent := func(lines []string) string { return "    " + strings.Join(lines, "\n    ") + "\n" }
	return []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {cluster: c, user: u}\n" +
		"clusters:\n- name: c\n  cluster:\n" + indent(cluster) + "users:\n- name: u\n  user:\n" + indent(user))
}

// Controllers of tenants write kubeconfigs: none makes this program run or read anything.
func TestAKubeconfigThatRunsOrReadsSomethingIsRefused(t *testing.T) {
	dir := t.TempDir()
	ran, file := filepath.Join(dir, "ran"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("a-token-of-the-pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, token := []string{"server: https://127.0.0.1:1"}, []string{"token: t"}
	pem := base64.StdEncoding.EncodeToString([]byte("no PEM"))
	for name, tc := range map[string]struct {
		cluster, user []string
		want          string
	}{
		"exec":                  {server, []string{"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /usr/bin/touch, args: [" + ran + "]}"}, "users[].user.exec"},
		"exec beside a token":   {server, []string{"token: t", "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch}"}, "users[].user.exec"},
		"auth-provider":         {server, []string{"auth-provider: {name: gcp, config: {cmd-path: " + ran + "}}"}, "users[].user.auth-provider"},
		"tokenFile":             {server, []string{"tokenFile: " + file}, "users[].user.tokenFile"},
		"client-certificate":    {server, []string{"client-certificate: " + file}, "users[].user.client-certificate"},
		"client-key":            {server, []string{"client-key: " + file}, "users[].user.client-key"},
		"certificate-authority": {append(server[:1:1], "certificate-authority: "+file), token, "clusters[].cluster.certificate-authority"},
		"no verification":       {append(server[:1:1], "insecure-skip-tls-verify: true"), token, "clusters[].cluster.insecure-skip-tls-verify"},
		"impersonation":         {server, []string{"token: t", "as: system:admin"}, "users[].user.as"},
		"impersonated groups":   {server, []string{"token: t", "as-groups: [system:masters]"}, "users[].user.as"},
		"plain HTTP":            {[]string{"server: http://127.0.0.1:1"}, token, "no https:// URL"},
		"a file as server":      {[]string{"server: file://" + file}, token, "no https:// URL"},
		"credentials in server": {[]string{"server: https://me:pw@127.0.0.1:1"}, token, "no https:// URL"},
		"a query in server":     {[]string{"server: https://127.0.0.1:1?a=b"}, token, "no https:// URL"},
		"a file as proxy":       {append(server[:1:1], "proxy-url: file://"+file), token, "proxy-url"},
		"a broken authority":    {append(server[:1:1], "certificate-authority-data: "+pem), token, "cannot be read"},
		"a broken key":          {server, []string{"client-certificate-data: " + pem, "client-key-data: " + pem}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseKubeconfig(kubeconfigWith(tc.cluster, tc.user))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "pw") {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("something ran")
	}
	for _, text := range []string{"", "x", "{", "current-context: c", "current-context: c\ncontexts: [{name: c, context: {cluster: x, user: y}}]"} {
		if _, err := parseKubeconfig([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestOneThatHasEverythingInItselfIsTaken(t *testing.T) {
	a, err := parseKubeconfig(kubeconfigWith([]string{"server: https://api.example:6443/prefix", "proxy-url: http://proxy.example:3128", "tls-server-name: api"}, []string{"token: t"}))
	if err != nil || a.server.Host != "api.example:6443" || a.proxy.Host != "proxy.example:3128" || a.tls.ServerName != "api" || a.auth.BearerToken != "t" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := parseKubeconfig(kubeconfigWith([]string{"server: https://api.example"}, []string{"username: me"})); err != nil || a.proxy != nil {
		t.Errorf("%+v, %v", a, err)
	}
}
