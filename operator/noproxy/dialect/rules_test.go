package dialect

import "testing"

func TestWhatANameCovers(t *testing.T) {
	for _, c := range []struct {
		how         match
		entry, name string
		want        string
	}{
		{star, "*", "d.test", everything},
		{exactly, "*", "d.test", ""},
		{exactly, "d.test", "d.test", theName},
		{exactly, "d.test", "a.d.test", ""},
		{exactly, ".d.test", "d.test", ""},
		{exactly | bare, ".d.test", "d.test", theName},
		{exactly | dotted, ".d.test", "a.d.test", belowName},
		{exactly | dotted, "d.test", "a.d.test", ""},
		{exactly | below, "d.test", "a.d.test", belowName},
		{exactly | below, "d.test", "ad.test", ""},
		{exactly | below, ".d.test", "a.d.test", ""},
		{exactly | ends, "d.test", "ad.test", endsWith},
		{exactly | dotted | ends, ".d.test", "a.d.test", belowName},
		{ends, "", "d.test", everything},
	} {
		if got := c.how.covers(c.entry, c.name); got != c.want {
			t.Errorf("%b: %q covers %q: %q, want %q", c.how, c.entry, c.name, got, c.want)
		}
	}
}

func TestTheSliceOfClientsIsTheCallersOwn(t *testing.T) {
	Clients()[0] = nil
	if Clients()[0] == nil {
		t.Error("a caller has changed the slice of another")
	}
}
