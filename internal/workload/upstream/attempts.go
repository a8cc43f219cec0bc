package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// each calls ask, once for a credential at most, until an answer is neither refused nor unclear, or no credential may be tried,
// and returns the error of the last call. With once, the request cannot be repeated, and ask is called once. waiting returns the
// context in which each waits for a credential that may be tried.
func (a *attempts) each(waiting func() (context.Context, context.CancelFunc), proxy Proxy, once bool, ask func(*asking) (answer, error)) error {
	var failed error
	for asked := uint(0); ; {
		ctx, cancel := waiting()
		one, err := a.begin(ctx, proxy, asked, once)
		cancel()
		if err != nil {
			return cmp.Or(failed, err)
		}
		got, err := ask(&one)
		a.end(proxy, one, got)
		if once || got != refused && got != unclear {
			return err
		}
		failed, asked = err, asked|1<<one.index
	}
}

// begin returns the credential to ask with; asked has a bit for each index that is left out. A credential that is not known to be
// accepted is tried by one request at a time, and the others wait for its answer. A request that cannot be repeated (once) gets a
// credential that is known to be accepted, if there is one. The caller passes the answer to end.
func (a *attempts) begin(ctx context.Context, proxy Proxy, asked uint, once bool) (one asking, err error) {
	ended := a.wait(ctx, func(now time.Time) (look time.Time) {
		one, look, err = a.pick(now, proxy, asked, once, clientOf(ctx))
		return look
	})
	return one, cmp.Or(ended, err)
}

// wait calls pick, with the mutex held, until pick returns the zero time. Any other time is when to call it again; wait calls it
// sooner if something has changed.
func (a *attempts) wait(ctx context.Context, pick func(now time.Time) (look time.Time)) error {
	for {
		look, changed := a.look(pick)
		if look.IsZero() {
			return nil
		}
		if err := await(ctx, changed, time.Until(look)); err != nil {
			return err
		}
	}
}

// look calls pick. The channel that it returns is closed when something changes after that.
func (a *attempts) look(pick func(now time.Time) (look time.Time)) (time.Time, <-chan struct{}) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	again := pick(time.Now())
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return again, a.changed
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
func (a *attempts) pick(now time.Time, proxy Proxy, asked uint, once bool, client string) (one asking, look time.Time, err error) {
	if once {
		for i := range proxy.Credentials {
			if a.state(proxy, i).trusted(proxy) {
				return asking{index: i, began: now, trusted: true}, time.Time{}, nil
			}
		}
	}
	var soonest time.Time
	for i := range proxy.Credentials {
		state := a.state(proxy, i)
		switch rests := state.rests(proxy); {
		case asked&(1<<i) != 0:
		case rests.After(now):
			if soonest.IsZero() || rests.Before(soonest) {
				soonest = rests
			}
		case state.trusted(proxy):
			return asking{index: i, began: now, trusted: true}, time.Time{}, nil
		case !look.IsZero(): // nobody knows yet whether this one is needed
		case proxy.Credentials[i].IsZero():
			return asking{index: i, began: now}, time.Time{}, nil
		default:
			if look = state.room(now, client); !look.After(now) {
				return asking{index: i, began: now, again: state.rest.refused > 0, try: state.begin(now, client)}, time.Time{}, nil
			}
		}
	}
	if look.IsZero() {
		err = fmt.Errorf("%w %s", ErrBackoff, soonest.UTC().Format(time.TimeOnly+" MST"))
	}
	return asking{}, look, err
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

// untilAnswered returns a context that goes on after its client has gone, until the deadline of ctx or, without one, for longest. Else
// nobody would read that the password is wrong, and the next client would send it again. The caller calls heard once it has the
// answer: from then on, the context ends with its client.
func untilAnswered(ctx context.Context, longest time.Duration) (longer context.Context, heard func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	answered := make(chan struct{})
	context.AfterFunc(ctx, func() {
		if deadline, ok := ctx.Deadline(); ok {
			longest = time.Until(deadline)
		}
		_ = await(context.WithoutCancel(ctx), answered, longest)
		cancel(context.Cause(ctx))
	})
	return longer, sync.OnceFunc(func() { close(answered) })
}

// answer is the verdict of a request about the credential that it had.
type answer int

const (
	unknown  answer = iota // none, or one that a proxy may give before it looks at the credential, such as 403 and 503
	accepted               // 2xx to CONNECT, or below 400 to another request
	refused                // 407 to CONNECT
	unclear                // 407 to another request, and nobody knows whose
)

// end records the answer to a request. An acceptance does not count if the credential was refused after the request began.
func (a *attempts) end(proxy Proxy, one asking, got answer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	state := a.state(proxy, one.index)
	switch {
	case got == accepted && !state.said.After(one.began):
		a.accept(state)
	case got == refused && !proxy.Credentials[one.index].IsZero() && !state.rests(proxy).After(time.Now()): // or else it is one of several that were under way
		a.refuse(proxy, state)
	case got == unclear:
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

// beginProof begins a try of a credential that the proxy may just have refused, and waits until the account has room for a try.
// If others have found out meanwhile, it begins none, and returns what is known.
func (a *attempts) beginProof(ctx context.Context, proxy Proxy, one *asking) (known answer, err error) {
	asked, client := time.Now(), clientOf(ctx)
	err = a.wait(ctx, func(now time.Time) (look time.Time) {
		state := a.state(proxy, one.index)
		switch {
		case state.said.After(one.began):
			known = refused
		case state.last.After(asked):
			known = accepted
		case one.try != nil:
		default:
			if look = state.room(now, client); look.After(now) {
				return look
			}
			one.try = state.begin(now, client)
		}
		return time.Time{}
	})
	return known, err
}

func (a *attempts) accept(state *attempt) {
	state.accepted, state.rest, state.plain, state.last = true, rest{}, rest{}, time.Now()
	state.refused = 0
	if len(state.tries) > 0 { // there is nothing to find out any more about this one
		state.tries = slices.DeleteFunc(state.tries, func(t *try) bool { return t.of == state })
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

// state returns what is known of a credential. It is kept as long as the process runs: each rotation adds one.
func (a *attempts) state(proxy Proxy, index int) *attempt {
	credential := proxy.Credentials[index]
	of := attempted{proxy.Address, credential.Header()}
	if a.known == nil {
		a.known, a.accounts = map[attempted]*attempt{}, map[attempted]*account{}
	}
	if a.known[of] == nil {
		whose := attempted{proxy.Address, credential.user}
		if a.accounts[whose] == nil {
			a.accounts[whose] = &account{}
		}
		a.known[of] = &attempt{account: a.accounts[whose]}
	}
	return a.known[of]
}
