package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestOthersWaitForNewcomersButNotForLongAndNotAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newcomers{most: 1}
		begin := time.Now()
		n.letPass(t.Context())
		leave := n.arrive()
		second := n.arrive()
		leave()
		leave() // once
		passed := make(chan time.Duration, 2)
		go func() { n.letPass(t.Context()); passed <- time.Since(begin) }()
		synctest.Wait()
		n.letPass(t.Context()) // one waits already
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("nobody else waits: %v", waited)
		}
		time.Sleep(patience / 2)
		second()
		if waited := <-passed; waited != patience/2 {
			t.Errorf("one waited %v for the newcomers, who took %v", waited, patience/2)
		}
		defer n.arrive()()
		begin = time.Now()
		n.letPass(t.Context())
		if waited := time.Since(begin); waited != patience {
			t.Errorf("one waited %v for a newcomer who stays", waited)
		}
		begin = time.Now()
		n.letPass(t.Context())
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("another one waited %v for the same", waited)
		}
		defer n.arrive()()
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		begin = time.Now()
		n.letPass(cancelled)
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("one waited %v although the operator ends", waited)
		}
	})
}
