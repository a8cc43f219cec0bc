package operator_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// etcdHistory is every version of every Secret of a test's namespace, as etcd has them. The watch goes on from the revision
// that it saw last, also when etcd was away: nothing in between is missed, as the numbers of the versions show.
type etcdHistory struct {
	*fixture
	stop   context.CancelFunc
	done   chan struct{} // the watch has ended
	etcd   *clientv3.Client
	prefix string

	mu       sync.Mutex
	changed  chan struct{}
	versions map[string][]secretVersion // by name
	new      int                        // Secrets whose last version is of the new content
	seen     int64                      // the revision of the last version
	failures []string
}

// secretVersion is one version of one Secret.
type secretVersion struct {
	number  int64 // etcd's: 1 is the first since it was created
	deleted bool
	data    map[string][]byte
	whole   bool // with our label, and an owner
}

func watchEtcd(f *fixture) *etcdHistory {
	f.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{f.cp.EtcdEndpoint()}, DialTimeout: time.Minute, Logger: zap.NewNop()})
	f.must(err)
	ctx, cancel := context.WithCancel(f.Context())
	prefix := "/registry/secrets/" + f.namespace + "/"
	h := &etcdHistory{
		fixture: f, done: make(chan struct{}), etcd: etcd, prefix: prefix, changed: make(chan struct{}, 1), versions: map[string][]secretVersion{},
	}
	h.stop = func() { cancel(); <-h.done }
	f.Cleanup(func() { h.stop(); _ = etcd.Close() })
	now, err := etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	f.must(err)
	if now.Count != 0 {
		f.Fatalf("there are %d Secrets already", now.Count)
	}
	answers := etcd.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(now.Header.Revision+1))
	go func() {
		defer close(h.done)
		for answer := range answers {
			h.see(ctx, prefix, answer)
		}
	}()
	return h
}

func (h *etcdHistory) see(ctx context.Context, prefix string, answer clientv3.WatchResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := answer.Err(); err != nil && ctx.Err() == nil {
		h.failures = append(h.failures, "the watch on etcd: "+err.Error())
	}
	for _, event := range answer.Events {
		h.seen = max(h.seen, event.Kv.ModRevision)
		name := strings.TrimPrefix(string(event.Kv.Key), prefix)
		version := secretVersion{number: event.Kv.Version, deleted: event.Type == clientv3.EventTypeDelete}
		if !version.deleted {
			object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(event.Kv.Value, nil, nil)
			secret, is := object.(*corev1.Secret)
			if err != nil || !is {
				h.failures = append(h.failures, name+" cannot be read")
				continue
			}
			version.data = secret.Data
			version.whole = secret.Labels[render.SecretLabel] != "" && len(secret.OwnerReferences) > 0
		}
		h.add(name, version)
	}
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// close ends the watch, which must have seen everything.
func (h *etcdHistory) close() {
	h.Helper()
	h.stop()
	if len(h.failures) > 0 {
		h.Error(h.failures)
	}
}

func (h *etcdHistory) add(name string, version secretVersion) {
	all := h.versions[name]
	wasNew := len(all) > 0 && isNew(all[len(all)-1])
	switch {
	case isNew(version) && !wasNew:
		h.new++
	case !isNew(version) && wasNew:
		h.new--
	}
	h.versions[name] = append(all, version)
}

func isNew(version secretVersion) bool {
	for _, value := range version.data {
		if !strings.Contains(string(value), "new-Password") {
			return false
		}
	}
	return len(version.data) > 0
}

// catchUp returns when the watch has brought every version that is in etcd by now: who reads through the API server may know
// more than it.
func (h *etcdHistory) catchUp() {
	h.Helper()
	var last int64
	controlplanetest.Await(h, "the Secrets in etcd", func(ctx context.Context) (bool, error) {
		now, err := h.etcd.Get(ctx, h.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err == nil {
			for _, kv := range now.Kvs {
				last = max(last, kv.ModRevision)
			}
		}
		return true, err
	})
	controlplanetest.Await(h, "the watch on etcd", func(context.Context) (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return controlplanetest.Holds(h.seen >= last, "it is at revision %d, and not %d", h.seen, last)
	})
}

// written is how many Secrets are new.
func (h *etcdHistory) written() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.new
}

// await asks after every event.
func (h *etcdHistory) await(patience time.Duration, what string, condition func() bool) {
	h.Helper()
	tooLate := time.After(patience)
	for {
		h.mu.Lock()
		holds, failures, known, written := condition(), h.failures, len(h.versions), h.new
		h.mu.Unlock()
		switch {
		case len(failures) > 0:
			h.Fatal(failures)
		case holds:
			return
		}
		select {
		case <-h.changed:
		case <-h.done:
			h.Fatalf("await %s: the watch on etcd has ended", what)
		case <-tooLate:
			h.Fatalf("await %s: etcd has %d Secrets, %d of them new", what, known, written)
		}
	}
}

// check: each version of each Secret is the first or the new one, none comes after the new one but itself, and none was
// missed.
func (h *etcdHistory) check() {
	h.Helper()
	versions := 0
	for _, name := range slices.Sorted(maps.Keys(h.versions)) {
		all := h.versions[name]
		versions += len(all)
		first, last := all[0].data, map[string][]byte{}
		for key, value := range first {
			last[key] = []byte(toNew.Replace(string(value)))
		}
		beNew := false
		for i, version := range all {
			isOld, isNew := maps.EqualFunc(version.data, first, bytes.Equal), maps.EqualFunc(version.data, last, bytes.Equal)
			switch {
			case version.number != int64(i+1):
				h.Errorf("%s: version %d comes as number %d", name, version.number, i+1)
			case version.deleted:
				h.Errorf("%s was deleted", name)
			case !version.whole:
				h.Errorf("%s, version %d, lacks label or owner", name, version.number)
			case !isNew && (beNew || !isOld):
				h.Errorf("%s, version %d, is neither old nor new, or old again: %q", name, version.number, version.data)
			}
			beNew = beNew || isNew
		}
		if !beNew {
			h.Errorf("%s was not changed", name)
		}
	}
	h.Logf("%d versions of %d Secrets", versions, len(h.versions))
}
