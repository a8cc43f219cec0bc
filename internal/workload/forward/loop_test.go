package forward

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// Somebody uses the variables of a pod for the company's proxy: so the relay is its own proxy, or another relay's.
func TestARelayThatIsItsOwnProxyIsAskedAHandfulOfTimes(t *testing.T) {
	for _, relays := range []int{1, 10} {
		var asked atomic.Int32
		servers, folders := make([]*httptest.Server, relays), make([]string, relays)
		for i := range servers {
			folders[i] = t.TempDir()
			proxy := New(Options{
				Folder: upstream.NewFolder(folders[i], slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler), Name: pseudonym + string(rune('a'+i)),
			})
			servers[i] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				proxy.ServeHTTP(w, r)
			}))
			defer servers[i].Close()
		}
		for i, folder := range folders {
			next := servers[(i+1)%relays].URL + "\n"
			for _, name := range []string{upstream.HTTPFile, upstream.HTTPSFile} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(next), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		address := strings.TrimPrefix(servers[0].URL, "http://")
		for _, request := range []string{
			"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
			"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		} {
			asked.Store(0)
			status, _, body := raw(t, address, request)
			if status != http.StatusBadGateway && status != http.StatusLoopDetected || asked.Load() > maxRelays+2 {
				t.Errorf("%d relays, %q: %d %q after %d", relays, request[:8], status, body, asked.Load())
			}
		}
	}
}
