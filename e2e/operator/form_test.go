package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

const (
	portableAny = "100.64.0.0/13,100.64.0.1,100.64.0.10,100.96.0.0/11,127.0.0.1,178.170.32.59,::1,.cluster.local,.cluster.local.,example.com,.example.com,kubernetes,kubernetes.default,kubernetes.default.svc,localhost,.localhost,.svc,.svc."
	portableGo  = "100.64.0.0/13,100.64.0.1,100.64.0.10,100.96.0.0/11,127.0.0.1,178.170.32.59,::1,fd12::/48,.cluster.local,.cluster.local.,example.com,.example.com,kubernetes,kubernetes.default,kubernetes.default.svc,localhost,.localhost,.svc,.svc."
)

func newestForm(p *v1alpha1.CorporateProxy) { p.Spec.Form = "" }

// awaitLists awaits the list of each audience in the Secrets.
func (f *fixture) awaitLists(cluster, values, dropIns string) {
	f.Helper()
	controlplanetest.Await(f, "lists of "+cluster, func(context.Context) (bool, error) {
		v, s := f.secrets(cluster)
		if v == nil || s == nil {
			return controlplanetest.Holds(false, "there are %v and %v", nameOf(v), nameOf(s))
		}
		for text, want := range map[string]string{
			string(v.Data[render.ValuesKey]):     "\nno_proxy: " + values + "\n",
			string(s.Data[render.ContainerdKey]): "\nEnvironment=\"NO_PROXY=" + dropIns + "\"\n",
			string(s.Data[render.KubeletKey]):    "\nEnvironment=\"NO_PROXY=" + dropIns + "\"\n",
		} {
			if !strings.Contains(text, want) {
				return false, fmt.Errorf("no %q in it", want)
			}
		}
		return true, nil
	})
}

// An upgrade must not roll machines: a list in another form is another list.
func TestAClusterKeepsItsFormUntilTheInstallationAsksForAnother(t *testing.T) {
	f := newFixture(t)
	name := "pinned-" + f.namespace
	f.source(name, map[string]string{"http": proxyURL, "https": proxyURL, "noProxy": "example.com,fd12::/48"})
	proxy := f.proxy(name)
	const exact = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,example.com,fd12::/48,svc,127.0.0.1,localhost"
	f.cluster("c1")
	f.awaitNoProxy("c1", exact)

	modify(f, proxy, newestForm)
	f.awaitProxy(proxy, "the form was seen", func(p *v1alpha1.CorporateProxy) bool { return p.Status.ObservedGeneration == p.Generation })
	f.cluster("c2") // before, it would get what the operator knew, and keep it
	f.awaitLists("c2", portableAny, portableGo)
	f.reapply("c1", "after the form was unset")
	f.awaitNoProxy("c1", exact)
	report := f.report("c1", "Applied")
	if report.Status.Form != "Exact" {
		t.Errorf("the form became %s", report.Status.Form)
	}

	// Neither a move nor a backup carries the status.
	if report.Annotations[v1alpha1.FormAnnotation] != "Exact" || report.Annotations[v1alpha1.FactsVersionAnnotation] != "Facts/v1" {
		t.Errorf("promised are %v", report.Annotations)
	}
	f.must(f.client.Status().Patch(t.Context(), report, mergePatch(`{"status":null}`)))
	f.reapply("c1", "after the status was lost")
	if report := f.report("c1", "Applied"); report.Status.Form != "Exact" {
		t.Errorf("without its status, the form became %s", report.Status.Form)
	}
	f.awaitNoProxy("c1", exact)
}
