package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const lockInterval = 200 * time.Millisecond

// Lock waits for an exclusive lock on the file. The kernel frees it with the process, so no stale
// lock can be left behind; the empty file stays, because removing it would let two builders in.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}
