package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// A credential that a proxy has refused is tried again after firstPause, then twice as long each time, up to longestPause,
// with jitter: many companies lock an account after a handful of wrong passwords, and a fleet has thousands of relays.
const (
	firstPause   = 5 * time.Second
	longestPause = 2 * time.Minute
)

// attempts remembers how credentials fared.
type attempts struct {
	mutex sync.Mutex
	known map[attempted]*attempt
	now   func() time.Time
}

// attempted is a credential at a proxy.
type attempted struct{ address, header string }

type attempt struct {
	accepted bool          // by the latest answer
	refused  int           // times in a row
	rests    time.Time     // until then it is not tried
	last     time.Time     // when it was accepted
	tunnels  int           // open ones
	trying   chan struct{} // closed when the one request that tries it is answered; nil if there is none
}

// ErrBackoff says that no credential may be tried now.
var ErrBackoff = errors.New("it has refused the user or the password, and is not asked again before")

// begin returns a credential to ask with, and what is to be told of the answer. Of one that is not known to be accepted,
// only one request at a time finds out; the others wait for it, or take the next one that is accepted.
func (a *attempts) begin(ctx context.Context, proxy Proxy, from int) (index int, end func(answer), err error) {
	for {
		index, wait, err := a.pick(proxy, from)
		switch {
		case err != nil:
			return 0, nil, err
		case wait == nil:
			return index, func(got answer) { a.end(proxy, index, got) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}
}

func (a *attempts) pick(proxy Proxy, from int) (index int, wait chan struct{}, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := a.now()
	var soonest time.Time
	for i := from; i < len(proxy.Credentials); i++ {
		state := a.state(proxy, i)
		switch {
		case state.rests.After(now):
			if soonest.IsZero() || state.rests.Before(soonest) {
				soonest = state.rests
			}
		case state.accepted:
			return i, nil, nil
		case state.trying == nil:
			state.trying = make(chan struct{})
			return i, nil, nil
		default:
			wait = state.trying
		}
	}
	if wait == nil {
		err = fmt.Errorf("%w %s", ErrBackoff, soonest.UTC().Format(time.TimeOnly+" MST"))
	}
	return 0, wait, err
}

// answer is what a request says of the credential that it had.
type answer int

const (
	unknown  answer = iota // there was no answer
	accepted               // any but 407
	refused                // 407
)

func (a *attempts) end(proxy Proxy, index int, got answer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	state := a.state(proxy, index)
	switch got {
	case accepted:
		state.accepted, state.refused, state.rests, state.last = true, 0, time.Time{}, a.now()
	case refused:
		if state.rests.After(a.now()) {
			break // one of several that were under way
		}
		pause := min(firstPause<<min(state.refused, 10), longestPause)
		state.accepted, state.refused = false, state.refused+1
		state.rests = a.now().Add(pause + rand.N(pause/2))
	case unknown:
	}
	if state.trying != nil {
		close(state.trying)
		state.trying = nil
	}
}

func (a *attempts) state(proxy Proxy, index int) *attempt {
	return a.stateOf(attempted{proxy.Address, proxy.Credentials[index].Header()})
}

// stateOf forgets nothing but with the process: a rotation is one more.
func (a *attempts) stateOf(of attempted) *attempt {
	if a.known == nil {
		a.known = map[attempted]*attempt{}
	}
	if a.known[of] == nil {
		a.known[of] = &attempt{}
	}
	return a.known[of]
}
