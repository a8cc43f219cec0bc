package render

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// onMachine has the URL with every character, and a list that an unquoted YAML or TOML value would not survive.
func onMachine(t *testing.T, url string) resolve.Effective {
	t.Helper()
	e := effective(t, "")
	u, err := proxyurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := noproxy.ParseList("*.example,::1,.svc,10.0.0.0/8", noproxy.Source{})
	e.HTTP, e.HTTPS, e.NoProxy = u, u, noproxy.Lists{Any: list, Go: list}
	return e
}

// Talos' own reader is asked in e2e/judges.
func TestTheConfigurationOfTalosHasAllVariablesInBothForms(t *testing.T) {
	e := onMachine(t, anyURL)
	want := map[string]string{}
	for _, v := range environment(e, noproxy.AudienceGo) {
		want[v.name] = v.value
	}
	var patch struct {
		Machine struct{ Env map[string]string }
	}
	var document struct {
		APIVersion, Kind string
		Variables        map[string]string
	}
	for _, form := range []struct {
		write func(resolve.Effective) ([]byte, error)
		into  any
	}{{Talos, &patch}, {TalosEnvironment, &document}} {
		text, err := form.write(e)
		if err == nil {
			err = yaml.UnmarshalStrict(text, form.into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range []map[string]string{patch.Machine.Env, document.Variables} {
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 6 {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if document.Kind != "EnvironmentConfig" || document.APIVersion != "v1alpha1" {
		t.Errorf("%s %s", document.APIVersion, document.Kind)
	}
}

func TestBottlerocketGetsTheProxyForHTTPSAndEachEntry(t *testing.T) {
	e := onMachine(t, anyURL)
	text, err := Bottlerocket(e)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Settings struct{ Network map[string]any }
	}
	if err := toml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	var entries []any
	for _, item := range e.NoProxy.Go {
		entries = append(entries, item.Entry.String())
	}
	if diff := cmp.Diff(map[string]any{"https-proxy": anyURL, "no-proxy": entries}, got.Settings.Network); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.HTTPS = proxyurl.URL{}
	if _, err := Bottlerocket(e); err == nil || !strings.Contains(err.Error(), "http URLs alone") {
		t.Error(err)
	}
}

// readSysconfig does what /etc/profile.d/profile.sh of openSUSE does.
const readSysconfig = `while read line; do
	eval val=${line#*=}
	case "$line" in
	PROXY_ENABLED=*) PROXY_ENABLED="$val" ;;
	*) test "$PROXY_ENABLED" = yes && printf '%s=%s\n' "${line%%=*}" "$val" ;;
	esac
done`

func TestALoginOfMicroOSReadsWhatIsMeantOrItIsRefused(t *testing.T) {
	const url = "http://me:a%40b!~;&'()*@proxy.example:3128"
	text, err := MicroOS(onMachine(t, url))
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-c", readSysconfig)
	sh.Stdin = strings.NewReader(string(text))
	got, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "HTTP_PROXY=" + url + "\nHTTPS_PROXY=" + url + "\nNO_PROXY=" + onMachine(t, url).NoProxy.Any.String() + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, value := range []string{"a$b", "a`b", `a\b`, `a"b`, "a\nb"} {
		if _, err := sysconfigAssignment("HTTP_PROXY", value); err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestMachinesWithoutAProxyGetNoFile(t *testing.T) {
	for _, write := range []func(resolve.Effective) ([]byte, error){Talos, TalosEnvironment, Bottlerocket, MicroOS} {
		if text, err := write(resolve.Effective{Mode: resolve.ModeDirect}); err != nil || len(text) > 0 {
			t.Errorf("%q, %v", text, err)
		}
	}
}
