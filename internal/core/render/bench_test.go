package render_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// benchmark does what the operator does for one cluster at every reconcile.
func benchmark(b *testing.B, entries int) {
	b.Helper()
	var installation noproxy.List
	for i := range entries {
		entry, err := noproxy.Parse(fmt.Sprintf("host-%d.acme", i))
		if err != nil {
			b.Fatal(err)
		}
		installation = append(installation, noproxy.Item{Entry: entry})
	}
	in := resolve.Input{
		Installation: resolve.Installation{Name: "default", HTTP: url(b, exampleURL), HTTPS: url(b, exampleURL), NoProxy: installation},
		Cluster: resolve.Cluster{
			Namespace: "org-acme", Name: "mycluster", ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"},
			EndpointHost: "178.170.32.59",
		},
	}
	b.ReportAllocs()
	for b.Loop() {
		effective, err := resolve.Resolve(in)
		if err != nil {
			b.Fatal(err)
		}
		// 10,000 entries of this length are more than an environment carries.
		if _, err := render.Secrets(effective); (err != nil) != (entries >= 10_000) {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolveAndRenderOneCluster(b *testing.B)              { benchmark(b, 3) }
func BenchmarkResolveAndRenderOneClusterOf200Entries(b *testing.B)  { benchmark(b, 200) }
func BenchmarkResolveAndRenderOneClusterOf5000Entries(b *testing.B) { benchmark(b, 5000) }
func BenchmarkResolveAndRefuse10000Entries(b *testing.B)            { benchmark(b, 10_000) }
