package upstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func two() Proxy {
	one, other := "Basic b25l", "Basic b3RoZXI="
	return Proxy{Address: "proxy.example:3128", Credentials: []Credential{{Name: "current", secret: &one}, {Name: "previous", secret: &other}}}
}

// A destination that never answers holds the others up for a moment, and no longer.
func TestWhoTriesACredentialHasATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy, a := two(), attempts{now: time.Now}
		proxy.Credentials = proxy.Credentials[:1]
		if _, _, err := a.begin(t.Context(), proxy, 0, false); err != nil { // and never ends
			t.Fatal(err)
		}
		began := time.Now()
		for range 3 {
			if _, _, err := a.begin(t.Context(), proxy, 0, false); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 3*turn {
			t.Error(took)
		}
	})
}

// A proxy may answer 403 or 503 before it looks at the password. That ends the turn, and says nothing of the credential.
func TestAnAnswerThatSaysNothingOfTheCredentialHasTheNextOneTryIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy, a := two(), attempts{now: time.Now}
		proxy.Credentials = proxy.Credentials[:1]
		_, end, err := a.begin(t.Context(), proxy, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		end(unknown)
		_, end, err = a.begin(t.Context(), proxy, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), turn/2)
		defer cancel()
		if _, _, err := a.begin(short, proxy, 0, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two try at once: %v", err)
		}
		end(refused)
		if _, _, err := a.begin(t.Context(), proxy, 0, false); !errors.Is(err, ErrBackoff) {
			t.Error(err)
		}
	})
}

// A request with a body cannot be repeated: it is no trial while another credential works.
func TestARequestThatCannotBeRepeatedTakesWhatWorks(t *testing.T) {
	proxy, a := two(), attempts{now: time.Now}
	for want, once := range []bool{false, true} {
		index, end, err := a.begin(t.Context(), proxy, want, once)
		if err != nil || index != want {
			t.Fatal(index, err)
		}
		end(accepted)
		a.end(proxy, 0, nil, refused)
	}
	a.state(proxy, 0).rests = time.Time{} // it may be tried again
	if index, _, err := a.begin(t.Context(), proxy, 0, true); index != 1 || err != nil {
		t.Errorf("with a body: %d, %v", index, err)
	}
	if index, _, err := a.begin(t.Context(), proxy, 0, false); index != 0 || err != nil {
		t.Errorf("without: %d, %v", index, err)
	}
}

// A new password that the proxy does not know yet is tried seldom while the old one works: each relay of a fleet does so.
func TestASpareCredentialRestsForLonger(t *testing.T) {
	began := time.Now()
	proxy, a := two(), attempts{now: func() time.Time { return began }}
	a.end(proxy, 1, nil, accepted)
	for range 20 {
		a.state(proxy, 0).rests = time.Time{}
		a.end(proxy, 0, nil, refused)
	}
	if rests := a.state(proxy, 0).rests.Sub(began); rests < longestSpare || rests > 2*longestSpare {
		t.Error(rests)
	}
}
