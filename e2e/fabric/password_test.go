package fabric_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// wrongFor is how long the wrong password is asked with.
const wrongFor = 20 * time.Second

// A wrong password: however many ask, squid sees a handful of attempts, clients get 502 and the reason, and all is well again
// once either side is mended.
func testWrongPassword(t *testing.T, f *fabric, client *pod) {
	t.Helper()
	asking := client.client("shop")
	await := func(want int) string {
		var said string
		controlplanetest.Await(t, "the answer "+http.StatusText(want), func(context.Context) (bool, error) {
			var status int
			status, said = get(asking, "http://"+machine.InternetName+"/")
			return controlplanetest.Holds(status == want, "the answer is %d: %s", status, said)
		})
		return said
	}
	before := f.refusals(t)
	f.setSource(account(nextUser, "wr0ng"), "")
	await(http.StatusBadGateway)
	asked := 0
	for end := time.Now().Add(wrongFor); time.Now().Before(end); asked++ {
		for _, scheme := range []string{"http", "https"} {
			status, said := get(asking, scheme+"://"+machine.InternetName+"/")
			if scheme == "http" && status != http.StatusBadGateway || scheme == "https" && status == http.StatusOK || strings.Contains(said, "wr0ng") {
				t.Fatalf("%s: %d %s", scheme, status, said)
			}
		}
	}
	attempts := f.refusals(t) - before
	t.Logf("squid has refused %d attempts of one relay, for %d requests", attempts, 2*asked)
	if attempts < 2 || attempts > mostAttempts {
		t.Errorf("squid has refused %d attempts, and not 2 to %d", attempts, mostAttempts)
	}
	if said := await(http.StatusBadGateway); !strings.Contains(said, "does not accept the user or the password") && !strings.Contains(said, "is not asked again before") {
		t.Errorf("clients are told %s", said)
	}

	f.setSource(account(nextUser, nextPassword), "") // the source is mended
	await(http.StatusOK)
	f.setSource(account(nextUser, "wr0ng-2"), "")
	await(http.StatusBadGateway)
	controlplanetest.Require(t, f.squid.SetUsers(t.Context(), map[string]string{nextUser: "wr0ng-2"})) // the proxy is
	await(http.StatusOK)
}

// mostAttempts are those of one relay in half an hour: a request and the CONNECT that tells whose the 407 is, another one where the
// first has no answer for long, and, 5 seconds later, one CONNECT, or two.
const mostAttempts = 5

// testManyRelays: 50 relays with a wrong password, in one process and with connections of their own to squid. Each has clients
// that wait, and such that do not.
func testManyRelays(t *testing.T, f *fabric, client *pod) {
	t.Helper()
	const relays = 50
	settings, err := upstream.Parse(map[string]string{upstream.HTTPFile: account(user, "wr0ng"), upstream.HTTPSFile: account(user, "wr0ng")})
	controlplanetest.Require(t, err)
	before, began := f.refusals(t), time.Now()
	var running sync.WaitGroup
	for range relays {
		dialer := upstream.NewDialer(func(ctx context.Context, address string) (upstream.Conn, error) {
			conn, err := f.network.Dial(ctx, client.network(), address)
			if err != nil {
				return nil, err
			}
			return conn.(*net.TCPConn), nil
		})
		plain := dialer.NewTransport(settings.HTTP, settings.Authorities, upstream.Timeout(time.Minute))
		t.Cleanup(plain.Close)
		for i := range 4 {
			running.Go(func() {
				for time.Since(began) < wrongFor {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					leave := time.AfterFunc([]time.Duration{time.Minute, 10 * time.Millisecond}[i/2], cancel)
					var err error
					if i%2 == 0 {
						_, err = dialer.Open(ctx, settings.HTTPS, settings.Authorities, machine.InternetName+":443", "")
					} else {
						request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+machine.InternetName+"/", nil)
						_, err = plain.RoundTrip(request) //nolint:bodyclose // there is none
					}
					if err == nil {
						t.Error("a wrong password is accepted")
					}
					leave.Stop()
					cancel()
					<-time.After(100 * time.Millisecond)
				}
			})
		}
	}
	running.Wait()
	attempts := f.refusals(t) - before
	t.Logf("squid has refused %d attempts of %d relays", attempts, relays)
	if attempts < 2*relays || attempts > mostAttempts*relays {
		t.Errorf("squid has refused %d attempts of %d relays, and not 2 to %d of each", attempts, relays, mostAttempts)
	}
}

// refusals are the requests that squid has answered with 407.
func (f *fabric) refusals(t *testing.T) int {
	t.Helper()
	requests, err := f.squid.Requests()
	controlplanetest.Require(t, err)
	refused := 0
	for _, request := range requests {
		if request.Status == http.StatusProxyAuthRequired {
			refused++
		}
	}
	return refused
}
