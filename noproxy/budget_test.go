package noproxy_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/noproxy"
)

// hosts are so many names below a domain, all of one length.
func hosts(n int, below string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("h%04d.%s", i, below)
	}
	return strings.Join(names, ",")
}

// One entry more costs one entry its addition, not all.
func TestOneEntryMoreCostsNoMoreThanItMust(t *testing.T) {
	const fit = 3_448 // each takes 29 bytes with its ".d", of which 15 are for that
	for n, wants := range map[int]struct{ atOnce, stepwise int }{fit: {}, fit + 1: {fit + 1, 2}, fit + 10: {fit + 10, 19}} {
		merged := noproxy.Merge(list(t, installation, hosts(n, "example")))
		for degrade, want := range map[noproxy.Version]int{noproxy.V1: wants.atOnce, noproxy.V2: wants.stepwise} {
			w := noproxy.Write(merged, noproxy.AudienceAny, degrade)
			if len(w.Left) != want || len(w.Omitted) > 0 || len(w.Written.String()) > noproxy.Budget {
				t.Errorf("%d hosts, degrade %d: %d bytes, %d lack something", n, degrade, len(w.Written.String()), len(w.Left))
			}
		}
	}
}

func TestNamesComeBeforeAddressesAndSmallNetworksBeforeLargeOnes(t *testing.T) {
	merged := noproxy.Merge(list(t, installation, hosts(3_444, "example")+",10.0.0.0/28,10.1.0.0/30,10.2.0.0/30"))
	w := noproxy.Write(merged, noproxy.AudienceAny, noproxy.V2)
	if w.Left.String() != "10.0.0.0/28" {
		t.Errorf("%d bytes without what is beside %s", len(w.Written.String()), w.Left)
	}
}

// Machines that run have these lists: Portable/v1 wrote them on the day of its release.
func TestPortableV1DegradesAtOnceForEver(t *testing.T) {
	merged := noproxy.Merge(list(t, installation, hosts(7_000, "example")+",10.0.0.0/30,10.1.2.3,fd00::/64"), list(t, noproxy.LayerBuiltin, "svc"))
	for audience, want := range map[noproxy.Audience]string{
		noproxy.AudienceAny: "c9a6b92175a482db",
		noproxy.AudienceGo:  "ffcbee92d4785703",
	} {
		written, _ := noproxy.Portable(merged, audience)
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(written.String())))[:16]; got != want {
			t.Errorf("%s: %s", audience, got)
		}
	}
}

func TestStepwiseIsIdempotentAndIndependentOfOrderToo(t *testing.T) {
	label := strings.Repeat("a", 60)
	below := strings.Join([]string{label, label, label, "example"}, ".")
	rapid.Check(t, func(t *rapid.T) {
		extra, audience := layered.Draw(t, "list"), audience.Draw(t, "audience")
		merged := noproxy.Merge(parsed(t, hosts(rapid.IntRange(230, 280).Draw(t, "hosts"), below)), extra)
		once := noproxy.Write(merged, audience, noproxy.V2)
		if twice := noproxy.Write(once.Written, audience, noproxy.V2); twice.Written.String() != once.Written.String() {
			t.Fatal("twice is another")
		}
		shuffled := slices.Clone(merged)
		slices.Reverse(shuffled)
		again := noproxy.Write(shuffled, audience, noproxy.V2)
		if again.Written.String() != once.Written.String() || !slices.Equal(set(again.Left), set(once.Left)) {
			t.Fatal("another order is another list")
		}
		for _, item := range noproxy.Write(merged, audience, noproxy.V1).Written {
			if !slices.ContainsFunc(once.Written, func(other noproxy.Item) bool { return other.Entry == item.Entry }) {
				t.Fatalf("%s is missing", item.Entry)
			}
		}
	})
}
