package bundle

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/document"
)

var options = Options{Name: "software", Namespace: "org", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"proxied": "yes"}}}

func parse(t *testing.T, text string) []document.Document {
	t.Helper()
	documents, err := document.Parse("stdin", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

const chart = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: fairlead-system}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: before, namespace: elsewhere, annotations: {helm.sh/hook: pre-install}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: kube-system}, data: {token: eA==}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example}}
`

// summary names what is applied, in order, and what is in each.
func summary(t *testing.T, text []byte) (lines []string) {
	t.Helper()
	for _, d := range parse(t, string(text)) {
		line := title(d.Object)
		switch content := d.Object.Object["data"].(type) {
		case map[string]any:
			inside, _ := content[key].(string)
			if d.Object.GetKind() == "Secret" {
				decoded, err := base64.StdEncoding.DecodeString(inside)
				if err != nil {
					t.Fatal(err)
				}
				inside = string(decoded)
			}
			for _, in := range parse(t, inside) {
				line += ", " + title(in.Object)
			}
		default:
			line += fmt.Sprint(" ", d.Object.Object["spec"])
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAChartBecomesSetsInWhichNamespacesAreApplicableOnce(t *testing.T) {
	b, err := Make(parse(t, chart), options)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ConfigMap org/software-namespace, Namespace fairlead-system",
		"ClusterResourceSet org/software-namespace map[clusterSelector:map[matchLabels:map[proxied:yes]] resources:[map[kind:ConfigMap name:software-namespace]] strategy:ApplyOnce]",
		"Secret org/software-secret, Secret kube-system/s",
		"ConfigMap org/software, CustomResourceDefinition things.example, ServiceAccount fairlead-system/a",
		"ClusterResourceSet org/software map[clusterSelector:map[matchLabels:map[proxied:yes]] resources:[map[kind:Secret name:software-secret] map[kind:ConfigMap name:software]] strategy:Reconcile]",
	}
	if diff := cmp.Diff(want, summary(t, b.Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Job elsewhere/before"}, b.Dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	again, err := Make(parse(t, chart), options)
	if err != nil || !bytes.Equal(again.Text, b.Text) {
		t.Errorf("made again, it is another: %v", err)
	}
}

func TestANamespaceThatTheChartBringsIsNotMadeAnew(t *testing.T) {
	b, err := Make(parse(t, `{apiVersion: v1, kind: Namespace, metadata: {name: fairlead-system, labels: {a: b}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: fairlead-system}}`), options)
	if err != nil || strings.Count(string(b.Text), "kind: Namespace") != 1 || !strings.Contains(string(b.Text), "a: b") {
		t.Errorf("%v\n%s", err, b.Text)
	}
}

// Cluster API would empty it with each new bundle.
func TestWhatAProgramFillsIsAppliedOnce(t *testing.T) {
	b, err := Make(parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: result, namespace: ns}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: ns}, data: {a: b}}`), options)
	if err != nil {
		t.Fatal(err)
	}
	lines := summary(t, b.Text)
	if lines[0] != "ConfigMap org/software-namespace, Namespace ns, ConfigMap ns/result" || lines[2] != "ConfigMap org/software, ConfigMap ns/settings" {
		t.Errorf("%q", lines)
	}
}

func TestWhatIsTooLargeForOneIsInSeveral(t *testing.T) {
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: %s}}\n", i, strings.Repeat("x", 400_000))
	}
	b, err := Make(parse(t, text.String()), options)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range parse(t, string(b.Text)) {
		names = append(names, d.Object.GetKind()+" "+d.Object.GetName())
		if d.Object.GetKind() == "ConfigMap" {
			if inside := d.Object.Object["data"].(map[string]any)[key].(string); len(inside) >= 1<<20 {
				t.Errorf("%s has %d bytes", d.Object.GetName(), len(inside))
			}
		}
	}
	if diff := cmp.Diff([]string{"ConfigMap software", "ConfigMap software-2", "ConfigMap software-3", "ClusterResourceSet software"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsOfOneClusterIsRefusedByNameAndNotShown(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("http://u:S3CRET@proxy:3128"))
	bare := base64.StdEncoding.EncodeToString([]byte("http://S3CRET:3128"))
	for name, test := range map[string]struct{ text, want string }{
		"a Secret":              {`{kind: Secret, apiVersion: v1, metadata: {name: s, namespace: ns}, data: {https_proxy: ` + encoded + `}}`, "Secret ns/s: data.https_proxy has"},
		"without a user":        {`{kind: Secret, apiVersion: v1, metadata: {name: s}, data: {HTTP_PROXY: ` + bare + `}}`, "Secret s: data.HTTP_PROXY has"},
		"another key":           {`{kind: Secret, apiVersion: v1, metadata: {name: s}, stringData: {a: "http://u:S3CRET@p:1"}}`, "Secret s: stringData.a has"},
		"a policy":              {`{kind: MutatingPolicy, apiVersion: v1, metadata: {name: p}, spec: {variables: [{expression: '[{"name":"HTTPS_PROXY","value":"http://S3CRET:1"}]'}]}}`, "MutatingPolicy p: spec.variables[0].expression has the URL of a proxy (carry Literal)"},
		"no proxy at all":       {`{kind: MutatingPolicy, apiVersion: v1, metadata: {name: p}, spec: {variables: [{expression: '[{"name": dyn("HTTPS_PROXY"), "value": dyn("")}]'}]}}`, "MutatingPolicy p: spec.variables[0].expression sets an empty HTTPS_PROXY"},
		"a pod":                 {`{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {args: ["--proxy=http://u:S3CRET@p:1"]}}`, "Pod p: spec.args[0] has a URL with a user"},
		"no name":               {`{kind: Pod, apiVersion: v1, metadata: {generateName: p}}`, "Pod: metadata.name is missing"},
		"nothing":               {``, "no object"},
		"nothing but a hook":    {`{kind: Pod, apiVersion: v1, metadata: {name: p, annotations: {helm.sh/hook: test}}}`, "1 hooks"},
		"an object of a MiB":    {`{kind: ConfigMap, apiVersion: v1, metadata: {name: c}, data: {a: ` + strings.Repeat("x", 1<<20) + `}}`, "ConfigMap c: it has 10"},
		"a Secret of a MiB":     {`{kind: Secret, apiVersion: v1, metadata: {name: c}, stringData: {a: ` + strings.Repeat("x", 1<<20) + `}}`, "Secret c: it has 10"},
		"a Namespace by itself": {`{kind: Namespace, apiVersion: v1, metadata: {name: c}}`, "1 Namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(parse(t, test.text), options)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "S3CRET") {
				t.Errorf("not %q: %v", test.want, err)
			}
		})
	}
}

func TestAURLThatAPolicyPutsTogetherIsNotRefused(t *testing.T) {
	text := `{kind: MutatingPolicy, apiVersion: v1, metadata: {name: p}, spec: {variables: [{expression: '[{"name": dyn("HTTP_PROXY"), "value": dyn("http://" + namespaceObject.metadata.name + "@" + "fairlead-relay.fairlead-system.svc:3128")}]'}]}}`
	if _, err := Make(parse(t, text), options); err != nil {
		t.Error(err)
	}
}
