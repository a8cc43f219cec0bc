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
	for end := time.Now().Add(wrongFor); time.Now().Before(end); {
		for _, scheme := range []string{"http", "https"} {
			status, said := get(asking, scheme+"://"+machine.InternetName+"/")
			if scheme == "http" && status != http.StatusBadGateway || scheme == "https" && status == http.StatusOK || strings.Contains(said, "wr0ng") {
				t.Fatalf("%s: %d %s", scheme, status, said)
			}
		}
	}
	attempts := f.refusals(t) - before
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
