package charts_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// manifests are all objects of a folder of config/.
func manifests(t *testing.T, folder string) rendered {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(chartFolder("fairlead"))), "config", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := rendered{}
	for _, file := range files {
		maps.Copy(all, parse(t, controlplanetest.ReadFile(t, file)))
	}
	return all
}

// Whoever reads config/ has read what the chart installs.
func TestTheOperatorsPermissionsAreThoseOfConfig(t *testing.T) {
	want := manifests(t, "rbac")
	for _, folder := range []string{"rollout", "observe", "observe-machines", "deliver", "preflight", "status-page", "owner-references"} {
		maps.Copy(want, manifests(t, folder))
	}
	delete(want, "Namespace/fairlead-system")                                  // Helm's own business
	for _, namespace := range []string{"fairlead-system", "proxies-of-acme"} { // words of no manifest
		given := values{
			"proxy": proxy(url, url, "a"), "rollout": values{"enabled": true}, "preflight": values{"enabled": true}, "statusPage": values{"enabled": true}, "ownerReferences": values{"enforced": true},
			"observe": values{"enabled": true, "machines": true, "probeNamespace": "elsewhere"},
			"deliver": values{"enabled": true, "workloadNamespace": "elsewhere"},
		}
		manifest, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder("fairlead"), Name: "fairlead", Namespace: namespace, Values: []any{given}})
		controlplanetest.Require(t, err)
		if namespace != "fairlead-system" && bytes.Contains(manifest, []byte("fairlead-system")) {
			t.Error("in another namespace, something still speaks of fairlead-system")
		}
		got := parse(t, bytes.ReplaceAll(manifest, []byte(namespace), []byte("fairlead-system")))
		for name, object := range want {
			found := got[name]
			if found == nil {
				t.Errorf("%s is not in the chart", name)
				continue
			}
			for key, value := range object.GetLabels() {
				if found.GetLabels()[key] != value {
					t.Errorf("%s has lost the label %s", name, key)
				}
			}
			if diff := cmp.Diff(unlabelled(object), unlabelled(found)); diff != "" {
				t.Errorf("in %s, %s (-config +chart):\n%s", namespace, name, diff)
			}
			delete(got, name)
		}
		for name := range got {
			switch name {
			case "Secret/corporate-proxy", "CorporateProxy/default", "Deployment/fairlead-operator", "PodDisruptionBudget/fairlead-operator",
				"Deployment/fairlead-observe", "Deployment/fairlead-deliver", "Deployment/fairlead-preflight", "NetworkPolicy/fairlead-preflight":
			default:
				t.Errorf("%s is in the chart and not in config", name)
			}
		}
	}
}

func unlabelled(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetLabels(nil)
	return object.Object
}

// Where it observes some namespaces, it may read kubeconfigs there alone.
func TestObserveHasItsRightsInTheNamespacesThatAreNamed(t *testing.T) {
	named := values{"enabled": true, "machines": true, "namespaces": []any{"org-acme", "org-other"}}
	objects := template(t, "fairlead", values{"proxy": proxy(url, url, "a"), "observe": named})
	bound := map[string]string{}
	for name, object := range objects {
		role, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
		if strings.HasPrefix(role, "fairlead-observe") {
			bound[name] = object.GetNamespace() + " " + role
		}
	}
	want := map[string]string{ // of one name, the last is here
		"RoleBinding/fairlead-observe": "org-other fairlead-observe", "RoleBinding/fairlead-observe-machines": "org-other fairlead-observe-machines",
	}
	if diff := cmp.Diff(want, bound); diff != "" {
		t.Error(diff)
	}
	if args := fmt.Sprint(objects["Deployment/fairlead-observe"].Object); !strings.Contains(args, "--cluster-namespaces=org-acme,org-other") {
		t.Error(args)
	}
}

func TestTheChartsCRDsAreThoseOfConfig(t *testing.T) {
	out, err := helm.Run(t.Context(), "show", "crds", chartFolder("fairlead"))
	controlplanetest.Require(t, err)
	if diff := cmp.Diff(manifests(t, "crd"), parse(t, out)); diff != "" {
		t.Errorf("-config +chart:\n%s", diff)
	}
}

func TestTheProxyBecomesASecretAndACorporateProxy(t *testing.T) {
	ours := map[string]any{"source": map[string]any{"valuesRef": map[string]any{"name": "corporate-proxy"}}}
	for name, test := range map[string]struct {
		given  values
		secret map[string]string // nil for none
		spec   map[string]any
	}{
		"as a config repository has it": {values{"proxy": proxy(url, otherURL, "a,b")}, settings(url, otherURL, "a,b"), ours},
		"a list":                        {values{"proxy": proxy(url, "", []string{"a", "b"})}, settings(url, "", "a,b"), ours},
		"one entry a line":              {values{"proxy": proxy(url, "", "a\nb\n")}, settings(url, "", "a\nb"), ours},
		"one URL alone":                 {values{"proxy": values{"https": url}}, settings("", url, ""), ours},
		"a line end after a URL":        {values{"proxy": proxy(url+"\n", " "+url, "a, b")}, settings(url, url, "a, b"), ours},
		"no list, which null removes":   {values{"proxy": values{"http": url, "noProxy": nil}}, settings(url, "", ""), ours},
		"a password of all characters":  {values{"proxy": proxy(hostile[0], hostile[4], "a")}, settings(hostile[0], hostile[4], "a"), ours},
		"more of the spec": {
			values{"proxy": proxy(url, url, "a"), "corporateProxy": values{"spec": values{"form": "Exact"}}},
			settings(url, url, "a"),
			map[string]any{"source": ours["source"], "form": "Exact"},
		},
		"another source": {
			values{"corporateProxy": values{"spec": values{"source": values{"valuesRef": values{"name": "mine"}}}}},
			nil,
			map[string]any{"source": map[string]any{"valuesRef": map[string]any{"name": "mine"}}},
		},
		"none": {values{"corporateProxy": values{"create": false}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects := template(t, "fairlead", test.given)
			kept := map[string]bool{"Secret/corporate-proxy": test.secret != nil, "CorporateProxy/default": test.spec != nil}
			for object, want := range kept {
				if (objects[object] != nil) != want {
					t.Fatalf("%s is there: %t", object, !want)
				}
				if want && objects[object].GetAnnotations()["helm.sh/resource-policy"] != "keep" {
					t.Errorf("%s goes with the release", object)
				}
			}
			if test.secret != nil {
				if diff := cmp.Diff(test.secret, objects.data(t, "Secret/corporate-proxy")); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			if test.spec != nil {
				if diff := cmp.Diff(test.spec, objects["CorporateProxy/default"].Object["spec"]); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func settings(http, https, noProxy string) map[string]string {
	return map[string]string{"http": http, "https": https, "noProxy": noProxy}
}

// Values with a password go nowhere but into the Secret: not into another object, nor into what Helm tells afterwards.
func TestThePasswordIsInTheSecretAlone(t *testing.T) {
	for chart := range both {
		file := valuesFile(t, values{"proxy": proxy("http://me:"+s3cret+"@proxy.example:3128", "", "a")})
		out, err := helm.Run(t.Context(), "install", chart, chartFolder(chart), "--dry-run=client", "--hide-secret", "--values", file)
		controlplanetest.Require(t, err)
		if !strings.Contains(string(out), "NOTES:") || !strings.Contains(string(out), "kind: Deployment") {
			t.Errorf("%s: that is not all of it:\n%s", chart, out)
		}
		if strings.Contains(string(out), s3cret) {
			t.Errorf("%s shows the password", chart)
		}
	}
}
