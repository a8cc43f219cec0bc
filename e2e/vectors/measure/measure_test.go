package measure_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	questions := known.Questions(func(name string) bool { return name == "curl" })
	if len(questions) < sampleSize {
		t.Fatalf("the table has %d questions", len(questions))
	}
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			for i := range sampleSize {
				compare(t, s, questions[i*len(questions)/sampleSize])
			}
		})
	}
}

func compare(t *testing.T, s *session.Session, question table.Row) {
	t.Helper()
	answered, err := measure.Ask(s, question)
	if err != nil {
		t.Fatal(err)
	}
	row, err := answered.Vector()
	if err != nil {
		t.Fatal(err)
	}
	got, decision, err := row.Got()
	if err != nil {
		t.Fatal(err)
	}
	if got != row.Want() {
		t.Errorf("%s %s: %s: %s, but its dialect says %s (%s)", row.Client, row.Version, answered, row.Want(), got, decision.Reason)
	}
}

// open starts a lab with a client. What cannot be had skips the test, except in CI.
func open(t *testing.T, name string) *session.Session {
	t.Helper()
	c, err := client.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	if missing := c.Missing(t.Context()); missing != "" {
		skip(t, "not installed: "+missing)
	}
	s, err := session.Open(t.Context(), c, "")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
