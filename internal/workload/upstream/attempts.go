package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// attempts remembers how credentials fared.
type attempts struct {
	mutex    sync.Mutex
	known    map[attempted]*attempt
	accounts map[attempted]*account
	changed  chan struct{} // closed when there may be room for a try
}

// attempted is a credential at a proxy, by its header, or an account there, by its user.
type attempted struct{ address, header string }

type attempt struct {
	*account

	accepted   bool      // by the latest answer
	rest       rest      // what it was refused for
	plain      rest      // of requests alone: a 407 that nobody could explain
	said       time.Time // when it was refused
	last       time.Time // when it was accepted
	tunnels    int       // open ones
	generation int       // of the settings with which it was refused
}

// asking is a request with a credential.
type asking struct {
	index   int
	began   time.Time
	trusted bool // it is known to be accepted
	again   bool // it was refused when it was asked with last
	try     *try // nil: it is no try
}

// ErrBackoff says that no credential may be tried now.
var ErrBackoff = errors.New("it has refused the user or the password, and is not asked again before")

type clientKey struct{}

// AskedBy returns a context for questions of that client, by its address: what tries a password is one question of each.
func AskedBy(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

func clientOf(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// begin returns a credential to ask with. Of one that is not known to be accepted, one request at a time finds out; the others
// wait for it. A request that cannot be repeated takes one that is accepted, if there is one. Who has one tells end of the answer.
func (a *attempts) begin(ctx context.Context, proxy Proxy, from int, once bool) (asking, error) {
	for {
		one, at, changed, err := a.pick(proxy, from, once, clientOf(ctx))
		if err != nil || at.IsZero() {
			return one, err
		}
		if err := await(ctx, changed, time.Until(at)); err != nil {
			return asking{}, err
		}
	}
}

// await waits until something has changed, and no longer than that.
func await(ctx context.Context, changed <-chan struct{}, longest time.Duration) error {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pick returns the credential to take, or when to look again, if nothing has changed before.
func (a *attempts) pick(proxy Proxy, from int, once bool, client string) (one asking, look time.Time, changed <-chan struct{}, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := time.Now()
	if once {
		for i := from; i < len(proxy.Credentials); i++ {
			if a.state(proxy, i).trusted(proxy) {
				return asking{index: i, began: now, trusted: true}, time.Time{}, nil, nil
			}
		}
	}
	var soonest time.Time
	for i := from; i < len(proxy.Credentials); i++ {
		state := a.state(proxy, i)
		switch rests := state.rests(proxy); {
		case rests.After(now):
			if soonest.IsZero() || rests.Before(soonest) {
				soonest = rests
			}
		case state.trusted(proxy):
			return asking{index: i, began: now, trusted: true}, time.Time{}, nil, nil
		case !look.IsZero(): // nobody knows yet whether this one is needed
		case proxy.Credentials[i].IsZero():
			return asking{index: i, began: now}, time.Time{}, nil, nil
		default:
			if look = state.room(now, client); !look.After(now) {
				return asking{index: i, began: now, again: state.rest.refused > 0, try: state.begin(now, client)}, time.Time{}, nil, nil
			}
		}
	}
	if look.IsZero() {
		err = fmt.Errorf("%w %s", ErrBackoff, soonest.UTC().Format(time.TimeOnly+" MST"))
	}
	return asking{}, look, a.changes(), err
}

// trusted reports whether everybody may ask with it.
func (s *attempt) trusted(proxy Proxy) bool {
	return s.accepted && (!proxy.plain || s.plain.refused == 0)
}

// rests is until when it is not sent. Other settings are a reason to try it once more.
func (s *attempt) rests(proxy Proxy) time.Time {
	switch {
	case proxy.generation > s.generation:
		return time.Time{}
	case proxy.plain:
		return later(s.rest.until, s.plain.until)
	}
	return s.rest.until
}

// hears returns the context of a question for which the answer counts also when its client has gone: else nobody would hear that
// the password is wrong, and the next one would send it again. It goes on until the deadline, or that long. Once the answer is
// there, heard has it end with its client.
func hears(ctx context.Context, longest time.Duration) (longer context.Context, heard func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	answered := make(chan struct{})
	context.AfterFunc(ctx, func() {
		if deadline, is := ctx.Deadline(); is {
			longest = time.Until(deadline)
		}
		_ = await(context.WithoutCancel(ctx), answered, longest)
		cancel(context.Cause(ctx))
	})
	return longer, sync.OnceFunc(func() { close(answered) })
}

// answer is what a request says of the credential that it had.
type answer int

const (
	unknown  answer = iota // none, or one that a proxy may give before it looks at the credential, such as 403 and 503
	accepted               // 2xx to CONNECT, or below 400 to another request
	refused                // 407 to CONNECT
	doubted                // 407 to another request, and nobody knows whose
)

// end says what the answer was. One to a question from before a refusal says what was.
func (a *attempts) end(proxy Proxy, one asking, got answer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	state := a.state(proxy, one.index)
	switch {
	case got == accepted && !state.said.After(one.began):
		a.accept(state)
	case got == refused && !proxy.Credentials[one.index].IsZero() && !state.rests(proxy).After(time.Now()): // or else it is one of several that were under way
		a.refuse(proxy, state)
	case got == doubted:
		if proxy.generation > state.generation { // what was before does not count again
			state.rest.until, state.generation = time.Time{}, proxy.generation
		}
		state.plain.refuse(time.Now(), false)
	}
	if one.try != nil {
		state.end(one.try)
	}
	if one.try != nil || got == refused {
		a.wake()
	}
}

// beginProof has one ask the proxy about a credential that it may have refused just now, as a try of the account, unless that is
// known meanwhile.
func (a *attempts) beginProof(ctx context.Context, proxy Proxy, one *asking) (known answer, err error) {
	for asked := time.Now(); ; {
		known, look, changed := a.pickProof(proxy, one, asked, clientOf(ctx))
		if look.IsZero() {
			return known, nil
		}
		if err := await(ctx, changed, time.Until(look)); err != nil {
			return unknown, err
		}
	}
}

func (a *attempts) pickProof(proxy Proxy, one *asking, asked time.Time, client string) (known answer, look time.Time, changed <-chan struct{}) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	state, now := a.state(proxy, one.index), time.Now()
	switch {
	case state.said.After(one.began):
		return refused, time.Time{}, nil
	case state.last.After(asked):
		return accepted, time.Time{}, nil
	case one.try != nil:
		return unknown, time.Time{}, nil
	}
	if look = state.room(now, client); look.After(now) {
		return unknown, look, a.changes()
	}
	one.try = state.begin(now, client)
	return unknown, time.Time{}, nil
}

// changes is closed once it is worth to look again.
func (a *attempts) changes() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

func (a *attempts) accept(state *attempt) {
	state.accepted, state.rest, state.plain, state.last = true, rest{}, rest{}, time.Now()
	state.refused = 0
	if len(state.tries) > 0 { // there is nothing to find out any more
		state.tries = nil
		a.wake()
	}
}

func (a *attempts) refuse(proxy Proxy, state *attempt) {
	now := time.Now()
	if state.accepted { // the proxy has changed: another one may be what it takes now
		for i := range proxy.Credentials {
			a.state(proxy, i).rest.until = time.Time{}
		}
	}
	long := state.refuse(now)
	state.rest.refuse(now, long)
	state.accepted, state.said, state.generation = false, now, proxy.generation
	for _, other := range a.known { // both passwords of an account count for it
		if other.account == state.account && long && other.rest.until.After(now) {
			other.rest.long(now)
		}
	}
}

// wake has those look again that wait for a turn.
func (a *attempts) wake() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

func (a *attempts) state(proxy Proxy, index int) *attempt {
	credential := proxy.Credentials[index]
	return a.stateOf(attempted{proxy.Address, credential.Header()}, credential.user)
}

// stateOf forgets nothing but with the process: a rotation is one more.
func (a *attempts) stateOf(of attempted, user string) *attempt {
	if a.known == nil {
		a.known, a.accounts = map[attempted]*attempt{}, map[attempted]*account{}
	}
	if a.known[of] == nil {
		whose := attempted{of.address, user}
		if a.accounts[whose] == nil {
			a.accounts[whose] = &account{}
		}
		a.known[of] = &attempt{account: a.accounts[whose]}
	}
	return a.known[of]
}
