package preflight

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// parallel is how many CorporateProxies are tried at a time.
const parallel = 32

// runner tries the tasks that are due, and writes the answers.
type runner struct {
	Options

	client  client.Client
	object  *corev1.ConfigMap
	tries   tries
	changed chan struct{}
	writing sync.Mutex // one write after the other

	// All by CorporateProxy.
	mutex     sync.Mutex
	tasks     map[string]probe.Task
	trying    map[string]bool
	answers   map[string]probe.Answer
	unwritten map[string]any   // answers, as text; nil deletes one. Nothing is tried again because it is not written: accounts get locked
	rests     map[string]pause // of what clusters have, since the proxy refused it
}

// pause is how long a revision is not tried.
type pause struct {
	digest string
	until  time.Time
	length time.Duration
}

func newRunner(opts Options, c client.Client, object *corev1.ConfigMap) *runner {
	r := &runner{
		Options: opts, client: c, object: object, tries: retry, changed: make(chan struct{}, 1),
		tasks: map[string]probe.Task{}, trying: map[string]bool{}, answers: map[string]probe.Answer{},
		unwritten: map[string]any{}, rests: map[string]pause{},
	}
	for name, text := range object.Data {
		answer, _ := probe.ParseAnswer(text) // one that cannot be read is about nothing
		r.answers[name] = answer
	}
	return r
}

// hear takes the tasks of a Secret; nil is none.
func (r *runner) hear(secret *corev1.Secret) {
	tasks := map[string]probe.Task{}
	if secret != nil {
		for name, text := range secret.Data {
			task, err := probe.ParseTask(text)
			if err != nil {
				r.Log.Error("a task cannot be read; is the operator of another version?", "corporateproxy", name, "reason", err)
				continue
			}
			tasks[name] = task
		}
	}
	r.mutex.Lock()
	r.tasks = tasks
	r.mutex.Unlock()
	r.wake()
}

func (r *runner) wake() {
	select {
	case r.changed <- struct{}{}:
	default: // it will look at what is newest
	}
}

func (r *runner) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for {
		timer := time.NewTimer(r.begin(ctx, &under))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// begin starts the tries that are due, and returns when to look again. A proxy that does not answer delays no other:
// each try writes its own answer, and makes run look again.
func (r *runner) begin(ctx context.Context, under *sync.WaitGroup) time.Duration {
	r.forget()
	failed := r.write(ctx)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	wait := time.Hour
	if failed {
		wait = r.Interval
	}
	for name, task := range r.tasks {
		switch due := r.due(name, task); {
		case r.trying[name]:
		case due > 0:
			wait = min(wait, due)
		case len(r.trying) < parallel:
			r.trying[name] = true
			under.Go(func() { r.try(ctx, name, task) })
		}
	}
	return wait
}

// forget is for answers that nobody asks for any more.
func (r *runner) forget() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for name := range r.answers {
		if _, ok := r.tasks[name]; !ok && !r.trying[name] {
			r.unwritten[name] = nil
			delete(r.answers, name)
			delete(r.rests, name)
		}
	}
}

func (r *runner) try(ctx context.Context, name string, task probe.Task) {
	defer r.wake()
	answer := r.answer(ctx, name, task)
	r.mutex.Lock()
	delete(r.trying, name)
	if ctx.Err() == nil {
		r.answers[name], r.unwritten[name] = answer, answer.Text()
	}
	r.mutex.Unlock()
	r.write(ctx)
}

// due returns how long it takes until a task is due.
func (r *runner) due(name string, task probe.Task) time.Duration {
	last := r.answers[name]
	if last.Digest != task.Candidate.Digest || last.Revision != task.Candidate.Revision || last.Next == nil {
		return 0
	}
	return time.Until(*last.Next)
}

// write writes the answers that are not written yet, and reports whether that failed.
func (r *runner) write(ctx context.Context) (failed bool) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mutex.Lock()
	data := maps.Clone(r.unwritten)
	r.mutex.Unlock()
	if len(data) == 0 || ctx.Err() != nil {
		return false
	}
	if err := apply.Merge(ctx, r.client, r.object, map[string]any{"data": data}); err != nil {
		r.Log.Error("the answers are not written; that is tried again", "reason", err)
		return true
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for name, text := range data {
		if r.unwritten[name] == text { // and no newer answer
			delete(r.unwritten, name)
		}
	}
	return false
}

// answer tries one revision.
func (r *runner) answer(ctx context.Context, name string, task probe.Task) probe.Answer {
	r.mutex.Lock()
	last, control := r.answers[name], r.rests[name]
	r.mutex.Unlock()
	if task.Control == nil || control.digest != task.Control.Digest {
		control = pause{}
	}
	rests := control.until.After(time.Now())
	state, reason, message, refused := r.tries.both(ctx, task, rests)
	now := time.Now().UTC().Truncate(time.Second)
	after := r.Interval
	switch {
	case reason == probe.CredentialsRefused:
		after = r.longer(restOf(last, task.Candidate))
	case state == probe.Held:
		after = r.Refused
	case refused && !rests:
		length := r.longer(control.length)
		r.mutex.Lock()
		r.rests[name] = pause{task.Control.Digest, now.Add(length), length}
		r.mutex.Unlock()
	}
	next := now.Add(after + rand.N(after/5+1))
	r.Log.Info("tried a revision", "corporateproxy", name, "revision", task.Candidate.Revision, "state", state, "reason", reason, "message", message)
	return probe.Answer{
		Revision: task.Candidate.Revision, Digest: task.Candidate.Digest, State: state, Reason: reason, Message: shorten(message), Time: now, Next: &next,
	}
}

// longest is how long refused credentials rest at most.
const longest = 4 * time.Hour

// longer returns how long refused credentials rest after they rested for so long.
func (o Options) longer(last time.Duration) time.Duration {
	return max(o.Refused, min(2*last, longest))
}

// restOf returns how long a revision rested after its last answer, which outlives this process; 0: it was not refused then.
func restOf(last probe.Answer, tried probe.Way) time.Duration {
	if last.Digest != tried.Digest || last.Reason != probe.CredentialsRefused || last.Next == nil {
		return 0
	}
	return last.Next.Sub(last.Time)
}

// shorten keeps the message of a condition within what it takes.
func shorten(message string) string {
	const most = 700
	if len(message) > most {
		return message[:most] + "…"
	}
	return message
}
