package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// two has a list for each audience, so that a file with the wrong one is seen.
func two(t *testing.T) resolve.Effective {
	t.Helper()
	return example(t, func(e *resolve.Effective) {
		e.NoProxy = noproxy.Lists{Any: list("any.example"), Go: list("go.example")}
	})
}

// six returns the variables, in both cases, as one file writes them.
func six(prefix, quote, list string) string {
	var text strings.Builder
	for _, v := range []struct{ name, value string }{
		{"HTTP_PROXY", exampleURL}, {"http_proxy", exampleURL}, {"HTTPS_PROXY", exampleURL}, {"https_proxy", exampleURL}, {"NO_PROXY", list}, {"no_proxy", list},
	} {
		text.WriteString(prefix + v.name + "=" + quote + v.value + quote + "\n")
	}
	return text.String()
}

func TestEachFileHasItsVariablesInItsLanguageWithTheListOfItsReaders(t *testing.T) {
	goFile := six("", `"`, "go.example")
	for name, test := range map[string]struct {
		write func(resolve.Effective) ([]byte, error)
		want  string
	}{
		"EnvironmentFile": {render.EnvironmentFile, goFile},
		"CRI-O":           {render.CRIO, goFile},
		"RKE2":            {render.RKE2Environment, goFile + six("CONTAINERD_", `"`, "go.example")},
		"K3s":             {render.K3sEnvironment, goFile + six("CONTAINERD_", `"`, "go.example")},
		"EtcEnvironment":  {render.EtcEnvironment, "\n" + six("", "", "any.example")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.write(two(t))
			if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			alone, err := test.write(example(t, func(e *resolve.Effective) { e.HTTPS = proxyurl.URL{} }))
			if err != nil || !strings.Contains(string(alone), "NO_PROXY") || strings.Contains(strings.ToUpper(string(alone)), "HTTPS_PROXY") {
				t.Errorf("one URL alone: %v\n%s", err, alone)
			}
			if nothing, err := test.write(blank(resolve.ModeDirect)); err != nil || len(nothing) > 0 {
				t.Errorf("Direct: %v\n%s", err, nothing)
			}
		})
	}
}

// With "-" in front, a unit whose file is missing would run without a proxy.
func TestAUnitFailsWithoutTheFileThatItsDropInNames(t *testing.T) {
	for _, e := range []resolve.Effective{example(t), blank(resolve.ModeDirect)} {
		dropIn, err := render.EnvironmentFileDropIn(e)
		if err != nil || !strings.HasPrefix(string(dropIn), "[Service]\n") || !strings.HasSuffix(string(dropIn), "\nEnvironmentFile=/etc/fairlead/proxy.env\n") {
			t.Errorf("%v\n%s", err, dropIn)
		}
	}
}

// Every key of the contract is written out here, so that a renamed one fails.
func TestEachKindOfFileHasItsKeys(t *testing.T) {
	for file, want := range map[resolve.NodeFile][]string{
		resolve.FileEnvironmentFile: {"environmentFile", "environmentFileDropIn"},
		resolve.FileEtcEnvironment:  {"etcEnvironment"},
		resolve.FileRKE2:            {"rke2Environment"},
		resolve.FileK3s:             {"k3sEnvironment"},
		resolve.FileStaticPods:      {"kubeAPIServerPatch", "kubeControllerManagerPatch", "kubeSchedulerPatch"},
	} {
		for _, e := range []resolve.Effective{example(t), blank(resolve.ModeDirect)} {
			e.Node.Files = []resolve.NodeFile{file}
			_, systemd := secrets(t, e)
			for _, key := range want {
				content, ok := systemd.Data[key]
				if !ok || content == nil || len(content) > 0 && !strings.HasSuffix(string(content), "\n") || strings.HasSuffix(string(content), "\n\n") {
					t.Errorf("%s: %s is %q", file, key, content)
				}
			}
			if len(systemd.Data) != 2+len(want) {
				t.Errorf("%s: %s", file, systemd)
			}
		}
	}
}

func TestTheFilesOfThePublishedExample(t *testing.T) {
	e := example(t, func(e *resolve.Effective) { e.Node.StaticPods = resolve.StaticPodsSet })
	for name, write := range map[string]func(resolve.Effective) ([]byte, error){
		"example-proxy.env": render.EnvironmentFile, "example-etc-environment": render.EtcEnvironment, "example-rke2": render.RKE2Environment,
		"example-kube-apiserver.json": func(e resolve.Effective) ([]byte, error) { return render.StaticPodPatch(e, "kube-apiserver") },
		"example-dnf.conf":            render.Dnf,
	} {
		content, err := write(e)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, content)
	}
}
