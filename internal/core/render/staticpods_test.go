package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// patched applies a patch to the variables that kubeadm has copied, as
// kubeadm does: by name, with deletions.
func patched(t *testing.T, patch []byte, component string, copied map[string]string) map[string]string {
	t.Helper()
	var p struct {
		Spec struct {
			Containers []struct {
				Name string
				Env  []struct {
					Name  string
					Value *string
					Patch string `json:"$patch"`
				}
			}
		}
	}
	if err := json.Unmarshal(patch, &p); err != nil || len(p.Spec.Containers) != 1 || p.Spec.Containers[0].Name != component {
		t.Fatalf("%v: %s", err, patch)
	}
	result, seen := map[string]string{}, map[string]bool{}
	for name, value := range copied {
		result[name] = value
	}
	for _, env := range p.Spec.Containers[0].Env {
		if seen[env.Name] {
			t.Fatalf("%s is there twice", env.Name)
		}
		seen[env.Name] = true
		switch {
		case env.Patch == "delete" && env.Value == nil:
			delete(result, env.Name)
		case env.Patch == "" && env.Value != nil:
			result[env.Name] = *env.Value
		default:
			t.Fatalf("neither a value nor a deletion: %+v", env)
		}
	}
	return result
}

func TestStaticPodsGetWhatTheirModeSaysWhateverKubeadmCopied(t *testing.T) {
	copied := map[string]string{"GODEBUG": "kept"}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy"} {
		copied[name], copied[strings.ToUpper(name)] = "foreign", "foreign"
	}
	e := example(t, func(e *resolve.Effective) { e.NoProxy.Any = list("any.example") })
	set := map[string]string{
		"GODEBUG": "kept", "HTTP_PROXY": exampleURL, "http_proxy": exampleURL, "HTTPS_PROXY": exampleURL, "https_proxy": exampleURL,
		"NO_PROXY": exampleList, "no_proxy": exampleList,
	}
	extended := map[string]string{}
	for name, value := range copied {
		extended[name] = value
	}
	extended["NO_PROXY"], extended["no_proxy"] = exampleList, exampleList
	for name, test := range map[string]struct {
		effective resolve.Effective
		mode      resolve.StaticPods
		want      map[string]string
	}{
		"Strip":            {e, resolve.StaticPodsStrip, map[string]string{"GODEBUG": "kept"}},
		"Extend":           {e, resolve.StaticPodsExtend, extended},
		"Set":              {e, resolve.StaticPodsSet, set},
		"unset":            {e, "", map[string]string{"GODEBUG": "kept"}},
		"Strip in Direct":  {blank(resolve.ModeDirect), resolve.StaticPodsStrip, map[string]string{"GODEBUG": "kept"}},
		"Extend in Direct": {blank(resolve.ModeDirect), resolve.StaticPodsExtend, map[string]string{"GODEBUG": "kept"}},
		"Set in Direct":    {blank(resolve.ModeDirect), resolve.StaticPodsSet, map[string]string{"GODEBUG": "kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.effective.Node.StaticPods = test.mode
			for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
				patch, err := render.StaticPodPatch(test.effective, component)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, patched(t, patch, component, copied)); diff != "" {
					t.Errorf("%s: %s", component, diff)
				}
			}
		})
	}
}

func TestOneURLAloneIsSetAloneInStaticPodsToo(t *testing.T) {
	e := example(t, func(e *resolve.Effective) { e.HTTPS, e.Node.StaticPods = proxyurl.URL{}, resolve.StaticPodsSet })
	patch, err := render.StaticPodPatch(e, "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	got := patched(t, patch, "kube-apiserver", map[string]string{"HTTPS_PROXY": "foreign", "https_proxy": "foreign"})
	want := map[string]string{"HTTP_PROXY": exampleURL, "http_proxy": exampleURL, "NO_PROXY": exampleList, "no_proxy": exampleList}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What only Set may show.
func TestOnlySetPutsThePasswordIntoAStaticPod(t *testing.T) {
	for mode, want := range map[resolve.StaticPods]bool{resolve.StaticPodsStrip: false, resolve.StaticPodsExtend: false, resolve.StaticPodsSet: true} {
		patch, err := render.StaticPodPatch(example(t, func(e *resolve.Effective) { e.Node.StaticPods = mode }), "kube-apiserver")
		if err != nil || strings.Contains(string(patch), "mySuperSecretPassword") != want {
			t.Errorf("%s: %v\n%s", mode, err, patch)
		}
	}
}
