package resolve_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func BenchmarkParseEntriesAndResolveTenThousand(b *testing.B) {
	text := manyEntries(10_000)
	in := example(b)
	b.ReportAllocs()
	for b.Loop() {
		in.Installation.NoProxy = entries(b, text)
		if _, err := resolve.Resolve(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolveOneClusterOfManyWithTenThousandEntries(b *testing.B) {
	in := example(b)
	in.Installation.NoProxy = entries(b, manyEntries(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := resolve.Resolve(in); err != nil {
			b.Fatal(err)
		}
	}
}
