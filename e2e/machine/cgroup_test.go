package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// When a network closes, other tests see that its control groups are nobody's, and remove them as well.
func TestSeveralRemoveTheSameControlGroups(t *testing.T) {
	for round := range 3 {
		folder := filepath.Join(t.TempDir(), strconv.Itoa(round))
		for i := range 20 {
			controlplanetest.Require(t, os.MkdirAll(filepath.Join(folder, strconv.Itoa(i), "a"), 0o755))
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := removeEmpty(folder); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after all have removed it: %v", err)
		}
		if t.Failed() {
			return
		}
	}
}
