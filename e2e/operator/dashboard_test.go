package operator_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestTheReportsAreADashboard(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.report("c1", "Applied")
	body, err := controlplanetest.Clients(t, f.cp).CoreV1().RESTClient().Get().
		AbsPath("/apis/fairlead.io/v1alpha1/namespaces/"+f.namespace+"/proxyreports").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	f.must(err)
	var table metav1.Table
	f.must(json.Unmarshal(body, &table))
	got := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		got[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	delete(got, "Age")
	want := map[string]string{
		"Name": "c1", "Mode": "Proxied", "Proxy": proxy.Name, "Form": "Exact", "Entries": "10", "Refused": "<nil>", "Outdated": "0", "Revision": "<nil>", "Override Ends": "<nil>",
		"Ready": "True", "Reason": "Applied", "Message": "through CorporateProxy " + proxy.Name + ", 10 NO_PROXY entries",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
