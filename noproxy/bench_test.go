package noproxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy"
)

func BenchmarkParse(b *testing.B) {
	for _, token := range []string{"internal.corpdomain.net", "*.bücher.example:8080", "10.1.2.3", "172.16.0.0/16", "[2001:db8::1]:443"} {
		b.Run(strings.ReplaceAll(token, "/", "|"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := noproxy.Parse(token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMergeOf200Entries(b *testing.B) {
	lists := make([]noproxy.List, 2)
	for i := range lists {
		var text strings.Builder
		for j := range 100 {
			fmt.Fprintf(&text, "host-%d.example,", j+i*90) // ten of them twice
		}
		lists[i] = list(b, noproxy.LayerInstallation, text.String())
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(noproxy.Merge(lists...)) != 190 {
			b.Fatal("wrong length")
		}
	}
}
