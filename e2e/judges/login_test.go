package judges_test

import (
	"errors"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// logIn appends each file to an /etc/environment without a line end at its end, and lets su, and with it PAM,
// open a session.
const logIn = `
mkdir -p /run/judge
cd /etc/judge
for file in login-*.env; do
	printf 'BEFORE=1' | cat - "$file" > /etc/environment
	su --shell /usr/bin/env root -- -0 > "/run/judge/${file%.env}"
done`

// What /etc/environment cannot carry is refused; the rest must arrive.
func judgeLogins(t *testing.T, m *machine.Machine, all []sample) {
	t.Helper()
	run(t, m, logIn)
	carried := 0
	for _, s := range all {
		if s.login {
			compare(t, m, "login", s, s.want())
			carried++
		}
	}
	if carried < len(all)/5 {
		t.Errorf("only %d of %d were carried", carried, len(all))
	}
}

func isNotCarriable(err error) bool {
	var p *resolve.Problem
	return errors.As(err, &p) && (p.Reason == resolve.ReasonNotCarriable || p.Reason == resolve.ReasonTooLarge)
}
