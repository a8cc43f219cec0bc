package preflight

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// refusing returns a proxy that answers every request so, and counts them.
func refusing(t *testing.T, status int) (address string, asked *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	asked = &atomic.Int32{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // a test
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					asked.Add(1)
					fmt.Fprintf(conn, "HTTP/1.1 %d no\r\nContent-Length: 0\r\nProxy-Authenticate: Basic realm=x\r\n\r\n", status)
				}
			}()
		}
	}()
	return listener.Addr().String(), asked
}

// round runs the tries that are due, to their end.
func (r *runner) round(ctx context.Context) {
	var under sync.WaitGroup
	r.begin(ctx, &under)
	under.Wait()
}

// quick returns a runner that does not wait between two attempts.
func quick(options Options, c client.Client, object *corev1.ConfigMap) *runner {
	r := newRunner(options, c, object)
	r.tries = tries(time.Millisecond)
	return r
}

// A password that was refused rests, whether the answer could be written or not: accounts get locked.
func TestARefusedPasswordIsNotSentAgainBecauseItsAnswerWasNotWritten(t *testing.T) {
	address, asked := refusing(t, http.StatusProxyAuthRequired)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: probe.PreflightName}}
	fail := true
	c := fake.NewClientBuilder().WithObjects(object).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if fail {
				return errors.New("the API server is not there")
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	r := quick(Options{Interval: time.Second, Refused: time.Hour, Log: slog.New(slog.DiscardHandler)}, c, object.DeepCopy())
	r.tasks = map[string]probe.Task{"corp": {
		Candidate: probe.Way{Revision: 2, Digest: "d", HTTPS: "http://user:wrong@" + address},
		Targets:   []probe.Target{{URL: "https://a.example", Expect: probe.Reachable, Route: probe.Proxied}},
	}}
	for range 3 {
		r.round(t.Context())
	}
	if asked.Load() != 1 {
		t.Errorf("the proxy was asked %d times with a password that it refuses", asked.Load())
	}
	fail = false
	r.round(t.Context())
	written := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), written); err != nil {
		t.Fatal(err)
	}
	if answer, err := probe.ParseAnswer(written.Data["corp"]); err != nil || answer.Reason != probe.CredentialsRefused {
		t.Errorf("%v, %v", written.Data, err)
	}
}

// The time to the next try is taken from the answer: the test does not wait.
func TestARefusedPasswordRestsForLongerEachTime(t *testing.T) {
	t.Parallel()
	address, asked := refusing(t, http.StatusProxyAuthRequired)
	forbids, _ := refusing(t, http.StatusForbidden)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: probe.PreflightName}}
	const first = 10 * time.Minute
	start := func() *runner {
		return quick(Options{Interval: time.Second, Refused: first, Log: slog.New(slog.DiscardHandler)}, fake.NewClientBuilder().WithObjects(object).Build(), object.DeepCopy())
	}
	r, bad, other := start(), "http://user:wrong@"+address, "http://user:right@"+forbids
	round := func(digest, candidate, control string) {
		t.Helper()
		before := asked.Load()
		r.tasks = map[string]probe.Task{"corp": {
			Candidate: probe.Way{Revision: 2, Digest: digest, HTTPS: candidate}, Control: &probe.Way{Revision: 1, Digest: "of " + control, HTTPS: control},
			Targets: []probe.Target{{URL: "https://a.example", Expect: probe.Reachable, Route: probe.Proxied}},
		}}
		r.round(t.Context())
		if times := asked.Load() - before; times != 1 {
			t.Fatalf("the proxy was asked %d times", times)
		}
	}
	last := time.Duration(0)
	rests := func(digest string, want time.Duration) {
		t.Helper()
		round(digest, bad, other)
		answer := r.answers["corp"]
		if last = answer.Next.Sub(answer.Time); last < want || last > want+want/5+time.Second {
			t.Errorf("it rests for %s, not %s", last, want)
		}
		now := time.Now()
		answer.Time, answer.Next = now.Add(-last), &now
		r.answers["corp"] = answer
	}
	rests("a", first)
	for range 6 {
		rests("a", min(2*last, longest))
	}
	answer := r.answers["corp"]
	r = start()
	r.answers["corp"] = answer // as it was written
	rests("a", longest)
	rests("b", first)

	for _, want := range []time.Duration{first, 2 * first} {
		round(want.String(), other, bad) // a revision that fails for another reason, and what clusters have is refused
		if got := r.rests["corp"]; got.length != want {
			t.Errorf("what clusters have rests for %s, not %s", got.length, want)
		}
		r.rests["corp"] = pause{r.rests["corp"].digest, time.Now(), r.rests["corp"].length}
	}
	round("c", other, bad+"/")
	if got := r.rests["corp"]; got.length != first {
		t.Errorf("others than those that were refused rest for %s", got.length)
	}
}

// silent returns a proxy that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func TestAProxyThatDoesNotAnswerDelaysNoOther(t *testing.T) {
	t.Parallel()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: probe.PreflightName}}
	wrote := make(chan struct{}, 10)
	c := fake.NewClientBuilder().WithObjects(object).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			defer func() { wrote <- struct{}{} }()
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	r := quick(Options{Interval: time.Second, Refused: time.Hour, Log: slog.New(slog.DiscardHandler)}, c, object.DeepCopy())
	task := func(address string) probe.Task {
		return probe.Task{
			Candidate: probe.Way{Revision: 2, Digest: address, HTTPS: "http://" + address},
			Targets:   []probe.Target{{URL: "https://a.example", Expect: probe.Reachable, Route: probe.Proxied}},
		}
	}
	first, asked := refusing(t, http.StatusForbidden)
	second, _ := refusing(t, http.StatusForbidden)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.tasks = map[string]probe.Task{"silent": task(silent(t)), "first": task(first)}
	go r.run(ctx)
	written := func(name string) bool {
		found := &corev1.ConfigMap{}
		return c.Get(ctx, client.ObjectKeyFromObject(object), found) == nil && found.Data[name] != ""
	}
	await := func(name string) {
		t.Helper()
		for !written(name) {
			select {
			case <-wrote:
			case <-time.After(30 * time.Second):
				t.Fatalf("%s has no answer", name)
			}
		}
	}
	await("first")
	r.mutex.Lock()
	tasks := maps.Clone(r.tasks)
	r.mutex.Unlock()
	tasks["second"] = task(second)
	r.mutex.Lock()
	r.tasks = tasks
	r.mutex.Unlock()
	r.wake()
	await("second")
	if written("silent") || asked.Load() == 0 {
		t.Error("there is an answer of a proxy that gave none")
	}
}

// An answer that could not be written must not replace a newer one.
func TestANewerAnswerStays(t *testing.T) {
	t.Parallel()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: probe.PreflightName}}
	fail := true
	c := fake.NewClientBuilder().WithObjects(object).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if fail {
				return errors.New("the API server is not there")
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	r := quick(Options{Interval: time.Second, Refused: time.Hour, Log: slog.New(slog.DiscardHandler)}, c, object.DeepCopy())
	address, _ := refusing(t, http.StatusForbidden)
	for number := int64(2); number <= 3; number++ {
		r.tasks = map[string]probe.Task{"corp": {
			Candidate: probe.Way{Revision: number, Digest: fmt.Sprint(number), HTTPS: "http://" + address},
			Targets:   []probe.Target{{URL: "https://a.example", Expect: probe.Reachable, Route: probe.Proxied}},
		}}
		r.round(t.Context())
		fail = false
	}
	r.round(t.Context())
	found := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), found); err != nil {
		t.Fatal(err)
	}
	if answer, err := probe.ParseAnswer(found.Data["corp"]); err != nil || answer.Revision != 3 || len(r.unwritten) != 0 {
		t.Errorf("%v, %v, and %d to write", found.Data, err, len(r.unwritten))
	}
}
