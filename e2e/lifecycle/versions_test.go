package lifecycle_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// history has every version of every Secret that there ever was on the API server from some moment on. A watch misses
// none: etcd keeps them for minutes.
type history struct {
	clients kubernetes.Interface
	mu      sync.Mutex
	events  []watch.Event
}

// record begins a history.
func record(t *testing.T, clients kubernetes.Interface) *history {
	t.Helper()
	h := &history{clients: clients}
	list, err := clients.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{Limit: 1})
	controlplanetest.Require(t, err)
	versions, err := clients.CoreV1().Secrets("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	controlplanetest.Require(t, err)
	go func() {
		for event := range versions.ResultChan() {
			h.mu.Lock()
			h.events = append(h.events, event)
			h.mu.Unlock()
		}
	}()
	return h
}

// check calls complaint for every version of some Secrets until now, and returns how many there were. A Secret that was
// deleted is a complaint in any case.
func (h *history) check(t *testing.T, which func(*corev1.Secret) bool, complaint func(*corev1.Secret) string) int {
	t.Helper()
	h.await(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := 0
	for _, event := range h.events {
		secret, is := event.Object.(*corev1.Secret)
		if !is {
			t.Fatalf("the watch ended: %v", event)
		}
		if !which(secret) {
			continue
		}
		seen++
		name := fmt.Sprintf("Secret %s/%s of version %s", secret.Namespace, secret.Name, secret.ResourceVersion)
		if event.Type == watch.Deleted {
			t.Errorf("%s was deleted", name)
		} else if text := complaint(secret); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	return seen
}

// await awaits a version that is newer than all others.
func (h *history) await(t *testing.T) {
	t.Helper()
	last := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("last-", time.Now().UnixNano())}}
	_, err := h.clients.CoreV1().Secrets(last.Namespace).Create(t.Context(), last, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the newest version", func(context.Context) (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		seen := slices.ContainsFunc(h.events, func(event watch.Event) bool {
			secret, is := event.Object.(*corev1.Secret)
			return is && secret.Name == last.Name
		})
		return controlplanetest.Holds(seen, "%d versions", len(h.events))
	})
}
