package upstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// two are two passwords of one account.
func two() Proxy {
	one, other := "Basic b25l", "Basic b3RoZXI="
	return Proxy{Address: "proxy.example:3128", Credentials: []Credential{{Name: "current", user: "corp", secret: &one}, {Name: "previous", user: "corp", secret: &other}}}
}

func one() Proxy {
	proxy := two()
	proxy.Credentials = proxy.Credentials[:1]
	return proxy
}

func begin(t *testing.T, a *attempts, proxy Proxy) asking {
	t.Helper()
	one, err := a.begin(t.Context(), proxy, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// rests fails unless nobody may ask within that time, and somebody after twice as long.
func rests(t *testing.T, a *attempts, proxy Proxy, pause time.Duration) {
	t.Helper()
	for _, wait := range []time.Duration{0, pause - time.Second} {
		time.Sleep(wait)
		if _, err := a.begin(t.Context(), proxy, 0, false); !errors.Is(err, ErrBackoff) {
			t.Fatalf("it is asked again within %s: %v", pause, err)
		}
	}
	time.Sleep(pause + time.Second)
}

// A destination that never answers holds the others up for a moment. More than two are not under way in 10 seconds: a proxy may be
// slow to refuse.
func TestWhoTriesACredentialHasATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, began := attempts{}, time.Now()
		for i, want := range []time.Duration{0, turn, patience, patience + turn, 2 * patience} {
			begin(t, &a, one()) // and never ends
			if took := time.Since(began); took != want {
				t.Errorf("try %d: %s", i, took)
			}
		}
	})
}

// A proxy may answer 403 or 503 before it looks at the password. That ends the turn, and says nothing of the credential.
func TestAnAnswerThatSaysNothingOfTheCredentialHasTheNextOneTryIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		a.end(one(), begin(t, &a, one()), unknown)
		mine := begin(t, &a, one())
		short, cancel := context.WithTimeout(t.Context(), turn/2)
		defer cancel()
		if _, err := a.begin(short, one(), 0, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two try at once: %v", err)
		}
		a.end(one(), mine, refused)
		rests(t, &a, one(), firstPause)
	})
}

// After two refusals in a row, it rests for long; also those that wait then do not ask.
func TestACredentialThatWasRefusedTwiceRestsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		a.end(one(), begin(t, &a, one()), refused)
		rests(t, &a, one(), firstPause)
		for range 5 {
			mine := begin(t, &a, one())
			done := make(chan error)
			go func() {
				_, err := a.begin(t.Context(), one(), 0, false)
				done <- err
			}()
			synctest.Wait()
			a.end(one(), mine, refused)
			if err := <-done; !errors.Is(err, ErrBackoff) {
				t.Errorf("who waited asks: %v", err)
			}
			rests(t, &a, one(), longPause)
		}
		a.end(one(), begin(t, &a, one()), accepted)
		a.end(one(), begin(t, &a, one()), refused)
		rests(t, &a, one(), firstPause) // what was accepted begins anew
	})
}

// Both passwords of an account count for it.
func TestTwoPasswordsOfAnAccountCountTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		for range 3 {
			for i := range 2 {
				mine, err := a.begin(t.Context(), two(), uint(i), false) // without the first one, for the second
				if err != nil || mine.index != i {
					t.Fatal(mine, err)
				}
				a.end(two(), mine, refused)
			}
			rests(t, &a, two(), longPause)
		}
		other := two()
		other.Credentials[0].secret, other.Credentials[0].user = other.Credentials[1].secret, "other"
		other.Address = "other.example:3128"
		begin(t, &a, other)
	})
}

// A new password that the proxy does not know yet rests for long while the old one works, and is tried as soon as that does not.
func TestASpareCredentialRestsUntilTheOtherIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		works := func() asking {
			mine, err := a.begin(t.Context(), two(), 0, false)
			if err != nil || mine.index != 1 {
				t.Fatal(mine, err)
			}
			return mine
		}
		for range 2 {
			mine := begin(t, &a, two())
			if mine.index != 0 {
				t.Fatal(mine)
			}
			a.end(two(), mine, refused)
			a.end(two(), works(), accepted)
			time.Sleep(2 * firstPause)
		}
		time.Sleep(longPause - 4*firstPause)
		a.end(two(), works(), refused)
		if mine := begin(t, &a, two()); mine.index != 0 {
			t.Error("the one that rests is not tried")
		}
	})
}

// A request with a body cannot be repeated: it is no trial while another credential works.
func TestARequestThatCannotBeRepeatedTakesWhatWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		a.end(two(), begin(t, &a, two()), refused)
		a.end(two(), begin(t, &a, two()), accepted)
		time.Sleep(2 * firstPause)
		if mine, err := a.begin(t.Context(), two(), 0, true); mine.index != 1 || err != nil {
			t.Errorf("with a body: %+v, %v", mine, err)
		}
		if mine, err := a.begin(t.Context(), two(), 0, false); mine.index != 0 || err != nil {
			t.Errorf("without: %+v, %v", mine, err)
		}
	})
}

// Other settings are a reason to ask once more, and no more than that.
func TestOtherSettingsAreAskedWithAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, proxy := attempts{}, one()
		for range 3 {
			a.end(proxy, begin(t, &a, proxy), refused)
			if proxy.generation == 0 {
				rests(t, &a, proxy, firstPause)
				a.end(proxy, begin(t, &a, proxy), refused)
			}
			rests(t, &a, proxy, longPause/2)
			proxy.generation++
		}
	})
}

// A slow answer to a request from before the refusal says nothing about the current state.
func TestALateAnswerDoesNotBringARefusedCredentialBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		a.end(one(), begin(t, &a, one()), accepted)
		slow, fast := begin(t, &a, one()), begin(t, &a, one())
		time.Sleep(time.Second)
		a.end(one(), fast, refused)
		a.end(one(), slow, accepted)
		rests(t, &a, one(), firstPause)
	})
}

// When all relays restart, the previous credential may be revoked: whoever waits for the current one does not send it.
func TestNobodySendsTheOldCredentialWhileTheNewOneIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		begin(t, &a, two())
		short, cancel := context.WithTimeout(t.Context(), turn/2)
		defer cancel()
		if mine, err := a.begin(short, two(), 0, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it sends %s: %v", two().Credentials[mine.index], err)
		}
	})
}

// One client with many requests to destinations that are silent does not have all turns.
func TestWhoWaitsForAnAnswerHasHadItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, hostile := attempts{}, AskedBy(t.Context(), "10.0.0.1")
		ctx, cancel := context.WithCancel(hostile)
		for range 100 {
			go func() { _, _ = a.begin(ctx, one(), 0, false) }() // and never ends
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		for _, client := range []string{"10.0.0.2", "10.0.0.3"} {
			began := time.Now()
			if _, err := a.begin(AskedBy(t.Context(), client), one(), 0, false); err != nil || time.Since(began) > turn {
				t.Errorf("%s waits %s: %v", client, time.Since(began), err)
			}
		}
		cancel()
	})
}

// A proxy that lets some destinations pass without a look at the password makes it no right one.
func TestAPasswordThatIsRefusedAgainAndAgainRestsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := attempts{}
		for range many - 1 {
			a.end(one(), begin(t, &a, one()), refused)
			rests(t, &a, one(), firstPause)
			a.end(one(), begin(t, &a, one()), accepted)
		}
		a.end(one(), begin(t, &a, one()), refused)
		rests(t, &a, one(), longPause)
	})
}
