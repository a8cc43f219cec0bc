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
// with jitter: many companies lock an account after a handful of wrong passwords, and a fleet has thousands of relays. While
// another credential is accepted, nobody waits for this one, and it rests for longer.
const (
	firstPause   = 5 * time.Second
	longestPause = 2 * time.Minute
	longestSpare = 10 * time.Minute
)

// turn is how long the others wait for the one request that tries a credential. After that, the next one may try it, too: a
// destination that does not answer must not hold everybody up.
const turn = 2 * time.Second

// attempts remembers how credentials fared.
type attempts struct {
	mutex sync.Mutex
	known map[attempted]*attempt
	now   func() time.Time
}

// attempted is a credential at a proxy, for tunnels or for requests.
type attempted struct {
	address, header string
	requests        bool
}

type attempt struct {
	accepted bool          // by the latest answer
	refused  int           // times in a row
	said     time.Time     // when it was refused
	rests    time.Time     // until then it is not tried
	last     time.Time     // when it was accepted
	tunnels  int           // open ones
	trying   chan struct{} // closed when the one request that tries it is answered, or has had its turn; nil if there is none
}

// ErrBackoff says that no credential may be tried now.
var ErrBackoff = errors.New("it has refused the user or the password, and is not asked again before")

// begin returns a credential to ask with, and what is to be told of the answer. Of one that is not known to be accepted,
// only one request at a time finds out; the others wait for it. A request that cannot be repeated takes one that is accepted,
// if there is one.
func (a *attempts) begin(ctx context.Context, proxy Proxy, from int, once bool) (index int, end func(answer), err error) {
	for {
		index, mine, theirs, err := a.pick(proxy, from, once)
		switch {
		case err != nil:
			return 0, nil, err
		case theirs == nil:
			began := a.now()
			return index, func(got answer) {
				if got == accepted && a.refusedSince(began, proxy, index) {
					got = unknown // it says what was
				}
				a.end(proxy, index, mine, got)
			}, nil
		}
		select {
		case <-theirs:
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}
}

// pick returns the credential to take, with the turn if it is to be tried, or whose turn is to be awaited.
func (a *attempts) pick(proxy Proxy, from int, once bool) (index int, mine, theirs chan struct{}, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if once {
		for i := from; i < len(proxy.Credentials); i++ {
			if a.state(proxy, i).accepted {
				return i, nil, nil, nil
			}
		}
	}
	var soonest time.Time
	for i := from; i < len(proxy.Credentials); i++ {
		state := a.state(proxy, i)
		switch {
		case state.rests.After(a.now()):
			if soonest.IsZero() || state.rests.Before(soonest) {
				soonest = state.rests
			}
		case state.accepted:
			return i, nil, nil, nil
		case theirs != nil: // the turn of one before this one: nobody knows yet whether this one is needed
		case state.trying == nil:
			return i, a.give(state), nil, nil
		default:
			theirs = state.trying
		}
	}
	if theirs == nil {
		err = fmt.Errorf("%w %s", ErrBackoff, soonest.UTC().Format(time.TimeOnly+" MST"))
	}
	return 0, nil, theirs, err
}

// give lets a request try a credential, for a turn.
func (a *attempts) give(state *attempt) chan struct{} {
	mine := make(chan struct{})
	state.trying = mine
	time.AfterFunc(turn, func() {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		state.over(mine)
	})
	return mine
}

// over ends a turn, unless it has ended.
func (s *attempt) over(mine chan struct{}) {
	if mine != nil && s.trying == mine {
		close(mine)
		s.trying = nil
	}
}

// hears returns the context of a request with a credential. While that is not known to be accepted, the request goes on for a
// turn when its client goes away: else nobody would hear that the password is wrong, and the next one would send it again.
func (a *attempts) hears(ctx context.Context, proxy Proxy, index int) context.Context {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.state(proxy, index).accepted {
		return ctx
	}
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(turn, func() { cancel(context.Cause(ctx)) }) })
	return longer
}

// answer is what a request says of the credential that it had.
type answer int

const (
	unknown answer = iota // none, or one that a proxy may give before it looks at the credential, such as 403 and 503
	accepted
	refused // 407
)

// end: what a proxy says to CONNECT counts for requests, too. Not the other way round: any destination of a request may say 407,
// and must not stop tunnels.
func (a *attempts) end(proxy Proxy, index int, mine chan struct{}, got answer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.learn(proxy, index, mine, got)
	if !proxy.requests {
		proxy.requests = true
		a.learn(proxy, index, nil, got)
	}
}

func (a *attempts) learn(proxy Proxy, index int, mine chan struct{}, got answer) {
	state := a.state(proxy, index)
	switch got {
	case accepted:
		state.accepted, state.refused, state.rests, state.last = true, 0, time.Time{}, a.now()
	case refused:
		if state.rests.After(a.now()) {
			break // one of several that were under way
		}
		longest := longestPause
		for i := range proxy.Credentials {
			if i != index && a.state(proxy, i).accepted {
				longest = longestSpare
			}
		}
		pause := min(firstPause<<min(state.refused, 10), longest)
		state.accepted, state.refused = false, state.refused+1
		state.said = a.now()
		state.rests = state.said.Add(pause + rand.N(pause/2))
	case unknown:
	}
	state.over(mine)
	if got == accepted {
		state.over(state.trying) // another request's: there is nothing to find out any more
	}
}

func (a *attempts) refusedSince(began time.Time, proxy Proxy, index int) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.state(proxy, index).said.After(began)
}

func (a *attempts) state(proxy Proxy, index int) *attempt {
	return a.stateOf(attempted{proxy.Address, proxy.Credentials[index].Header(), proxy.requests})
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
