package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

func secrets(tb testing.TB, e resolve.Effective) (values, systemd render.Secret) {
	tb.Helper()
	both, err := render.Secrets(e)
	if err != nil {
		tb.Fatal(err)
	}
	if len(both) != 2 {
		tb.Fatalf("%d Secrets: %v", len(both), both)
	}
	return both[0], both[1]
}

// These names are a contract with charts, kubeadm configurations and policies;
// they are written out here so that a renamed constant fails.
func TestTheTwoSecretsAreNamedAndLabelledByContract(t *testing.T) {
	always := []string{"containerdProxy", "kubeletProxy"}
	keys := map[resolve.Mode][]string{resolve.ModeProxied: always, resolve.ModeDirect: always}
	for _, key := range append(always, "environmentFile", "environmentFileDropIn", "etcEnvironment", "k3sEnvironment",
		"kubeAPIServerPatch", "kubeControllerManagerPatch", "kubeSchedulerPatch", "relayInstallService", "relayPolicy", "relayService",
		"relaySettings", "relaySocket", "relayUpdatePath", "relayUpdateService", "rke2Environment", "trustedCA") {
		keys[resolve.ModeUnproxied] = append(keys[resolve.ModeUnproxied], key, key+".base64")
	}
	slices.Sort(keys[resolve.ModeUnproxied])
	for name, e := range map[string]resolve.Effective{
		"proxied": example(t), "direct": blank(resolve.ModeDirect), "unproxied": blank(resolve.ModeUnproxied),
	} {
		t.Run(name, func(t *testing.T) {
			values, systemd := secrets(t, e)
			for _, test := range []struct {
				secret     render.Secret
				name, role string
				keys       []string
			}{
				{values, "mycluster-cluster-values", "cluster-values", []string{"values"}},
				{systemd, "mycluster-systemd-proxy", "systemd-proxy", keys[e.Mode]},
			} {
				if test.secret.Name != test.name || test.secret.Namespace != "org-acme" || test.secret.Role() != test.role {
					t.Errorf("%s has role %q", test.secret, test.secret.Role())
				}
				if diff := cmp.Diff(test.keys, slices.Sorted(maps.Keys(test.secret.Data))); diff != "" {
					t.Errorf("keys of %s:\n%s", test.secret.Name, diff)
				}
				want := map[string]string{
					"fairlead.io/secret": test.role, "cluster.x-k8s.io/cluster-name": "mycluster",
					"app.kubernetes.io/managed-by": "fairlead", "clusterctl.cluster.x-k8s.io/move": "",
				}
				if test.role == "cluster-values" {
					want["reconcile.fluxcd.io/watch"] = "Enabled"
				}
				if diff := cmp.Diff(want, test.secret.Labels); diff != "" {
					t.Errorf("labels of %s:\n%s", test.secret.Name, diff)
				}
			}
		})
	}
}

func TestTheSecretsHoldWhatIsRendered(t *testing.T) {
	e := example(t)
	values, systemd := secrets(t, e)
	wantValues, err := render.Values(e)
	if err != nil {
		t.Fatal(err)
	}
	wantDropIn, err := render.DropIn(e, noproxy.AudienceGo)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2][]byte{
		"values":          {values.Data["values"], wantValues},
		"containerdProxy": {systemd.Data["containerdProxy"], wantDropIn},
		"kubeletProxy":    {systemd.Data["kubeletProxy"], wantDropIn},
	} {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Errorf("%s is\n%s\nwant\n%s", name, pair[0], pair[1])
		}
	}
}

// An unchanged fleet must not cause writes.
func TestRenderingTwiceGivesTheSameBytes(t *testing.T) {
	first, second := fmt.Sprint(data(t)), fmt.Sprint(data(t))
	if first != second {
		t.Errorf("first\n%s\nthen\n%s", first, second)
	}
}

func data(t *testing.T) []map[string][]byte {
	t.Helper()
	values, systemd := secrets(t, example(t))
	return []map[string][]byte{values.Data, systemd.Data}
}

func TestPrintingASecretShowsNoData(t *testing.T) {
	values, systemd := secrets(t, example(t))
	type exported struct{ Values, Systemd render.Secret }
	holders := map[string]any{
		"itself": values, "the other": systemd, "pointer": &values, "slice": []render.Secret{values, systemd},
		"slice of pointers": []*render.Secret{&values}, "map": map[string]render.Secret{"a": systemd},
		"exported field": exported{values, systemd}, "pointer to it": &exported{values, systemd}, "any": []any{values},
	}
	for name, holder := range holders {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%c", "%z"} {
			fmt.Fprintf(&out, verb+"\n", holder)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("applied", "secret", holder)
		}
		for _, encode := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
			text, err := encode(holder)
			out.Write(text)
			fmt.Fprintln(&out, err)
		}
		if found := shown(out.String()); found != "" {
			t.Errorf("%s shows %s:\n%.2000s", name, found, out.String())
		}
		if !strings.Contains(out.String(), "Secret org-acme/mycluster-") {
			t.Errorf("%s does not say which Secret it is:\n%.2000s", name, out.String())
		}
	}
	canaries := []string{
		fmt.Sprint(string(values.Data["values"])), fmt.Sprint(values.Data), fmt.Sprintf("%x", systemd.Data["kubeletProxy"]),
		base64.StdEncoding.EncodeToString(systemd.Data["kubeletProxy"]), base64.StdEncoding.EncodeToString(values.Data["values"]),
	}
	for _, canary := range canaries {
		if shown(canary) == "" {
			t.Errorf("the search is blind to %.200s", canary)
		}
	}
}

// shown returns the form in which a text shows the password.
func shown(text string) string {
	const secret = "mySuperSecretPassword"
	forms := map[string]string{
		"text": secret, "bytes": strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
		"hexadecimal": fmt.Sprintf("%x", secret), "HEXADECIMAL": fmt.Sprintf("%X", secret),
	}
	for offset := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
		forms[fmt.Sprint("base64 at ", offset)] = encoded[(offset*8+5)/6 : len(encoded)-2]
	}
	for name, form := range forms {
		if strings.Contains(text, form) {
			return name
		}
	}
	return ""
}

// Machines of a cluster that no CorporateProxy selects wait for each key that their template names.
func TestBlankSecretsOfAnUnselectedClusterHaveEveryKeyThatExamplesName(t *testing.T) {
	_, systemd := secrets(t, blank(resolve.ModeUnproxied))
	named := regexp.MustCompile(`-systemd-proxy"?, key: "?([A-Za-z0-9.]+)`)
	found := 0
	for _, pattern := range []string{"nodes", "providers"} {
		files, err := filepath.Glob("../../../examples/" + pattern + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range named.FindAllStringSubmatch(string(text), -1) {
				if found++; systemd.Data[key[1]] == nil {
					t.Errorf("%s: %s is not there", file, key[1])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("%d keys in the examples", found)
	}
	for key, content := range systemd.Data {
		if bytes.Contains(content, []byte("://")) {
			t.Errorf("%s: %s", key, content)
		}
	}
}
