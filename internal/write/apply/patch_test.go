package apply

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func TestOnlyWhatDiffersOfAStatusIsSent(t *testing.T) {
	full := v1alpha1.ProxyReportStatus{
		Mode: "Proxied", ProxyName: "default", Refusals: []string{"one", "two"}, EntryCounts: map[string]int32{"cluster": 1, "proxy": 2},
	}
	less := v1alpha1.ProxyReportStatus{Mode: "Proxied", Refusals: []string{"two"}, EntryCounts: map[string]int32{"proxy": 2}}
	for name, test := range map[string]struct {
		before, after v1alpha1.ProxyReportStatus
		want          string
	}{
		"nothing":         {full, *full.DeepCopy(), `null`},
		"the first":       {v1alpha1.ProxyReportStatus{}, v1alpha1.ProxyReportStatus{Mode: "Proxied"}, `{"mode":"Proxied"}`},
		"values are gone": {full, less, `{"entryCounts":{"cluster":null},"proxyName":null,"refusals":["two"]}`},
		"all of it":       {less, v1alpha1.ProxyReportStatus{}, `{"entryCounts":null,"mode":null,"refusals":null}`},
	} {
		change, err := difference(&v1alpha1.ProxyReport{Status: test.before}, &v1alpha1.ProxyReport{Status: test.after})
		got, _ := json.Marshal(change)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, not %s; %v", name, got, test.want, err)
		}
	}
}
