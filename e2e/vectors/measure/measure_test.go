package measure_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/measure"
	"github.com/fairlead-io/fairlead/e2e/vectors/session"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

func TestMain(m *testing.M) {
	session.Main()
	os.Exit(m.Run())
}

// The samples are small enough for every run of the tests, and the programs are
// those that a machine for development has.
var samples = []string{"curl", "wget", "git", "go", "python-urllib"}

const sampleSize = 40

func TestClientsOfThisMachineDoWhatTheirDialectsSay(t *testing.T) {
	known, err := table.Read("../../../noproxy/dialect/vector/table")
	controlplanetest.Require(t, err)
	questions := known.Questions(func(name string) bool { return name == "curl" })
	if len(questions) < sampleSize {
		t.Fatalf("the table has %d questions", len(questions))
	}
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			for i := range sampleSize {
				answered, says, why, err := measure.Compare(s, questions[i*len(questions)/sampleSize])
				controlplanetest.Require(t, err)
				if answered.Answer() != says {
					t.Errorf("%s %s: %s: %s, but its dialect says %s (%s)", answered.Client, answered.Version, answered, answered.Answer(), says, why.Reason)
				}
			}
		})
	}
}

// open starts a lab with a client. What cannot be had skips the test, except in CI.
func open(t *testing.T, name string) *session.Session {
	t.Helper()
	c, err := client.Find(name)
	controlplanetest.Require(t, err)
	if missing := c.Missing(t.Context()); missing != "" {
		controlplanetest.Require(t, fmt.Errorf("%w: install %s", tools.ErrUnavailable, missing))
	}
	s, err := session.Open(t.Context(), c, "")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		err = errors.Join(tools.ErrUnavailable, err)
	}
	controlplanetest.Require(t, err)
	t.Cleanup(func() { controlplanetest.Require(t, s.Close()) })
	return s
}
