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

func TestWhatACallerChangesInAClientChangesNothingForOthers(t *testing.T) {
	find := func() *Client {
		client, err := Find("curl")
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	own, listed := Clients(), find()
	own[0].Name, own[0].Behaviours[0].Since = "changed", "changed"
	listed.Name, listed.Aliases[0], listed.AlsoReads[0], listed.Behaviours[0].Read = "changed", "changed", "changed", nil
	own[1] = nil
	for _, choice := range All() {
		if choice.Client == nil || choice.Client.Name == "changed" || choice.Since == "changed" || choice.Read == nil {
			t.Errorf("a caller has changed %s for others", choice)
		}
	}
	if again := find(); again.Aliases[0] == "changed" || again.AlsoReads[0] == "changed" {
		t.Error("a caller has changed the names of curl for others")
	}
}
