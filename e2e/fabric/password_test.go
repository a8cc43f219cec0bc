package fabric_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// wrongFor is how long the wrong password is asked with. In a minute, squid sees a few attempts more.
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
	before, began := f.refusals(t), time.Now()
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
	took := time.Since(began)
	t.Logf("in %s, squid has refused %d attempts of one relay, for %d requests", took, attempts, 2*asked)
	if most := mostAttempts(took); attempts == 0 || attempts > most {
		t.Errorf("squid has refused %d attempts, and not 1 to %d", attempts, most)
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

// mostAttempts are those of so long a time: at the beginning, after at least 5 s, after 10 s more, and after twice the pause of
// before from there on, up to 2 minutes; each with a request and with CONNECT, and once more each where the one that tries has
// no answer within its turn. In 20 s they are 8; a busy machine takes longer than that.
func mostAttempts(within time.Duration) int {
	most := 2 + 2
	for at, pause := 5*time.Second, 5*time.Second; at <= within; at += pause {
		most += 2
		pause = min(2*pause, 2*time.Minute)
	}
	return most
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
