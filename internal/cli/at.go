package cli

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// moment is the time of --at; zero: it is not given.
type moment struct{ at time.Time }

func (m *moment) time() time.Time {
	if m.at.IsZero() {
		return time.Now()
	}
	return m.at
}

// String implements pflag.Value.
func (m *moment) String() string {
	if m.at.IsZero() {
		return ""
	}
	return m.at.Format(time.RFC3339)
}

// Set implements pflag.Value.
func (m *moment) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("a time is written as 2026-12-31T18:00:00Z (RFC 3339)")
	}
	m.at = at
	return nil
}

// Type implements pflag.Value.
func (m *moment) Type() string { return "TIME" }

func atFlag(flags *pflag.FlagSet, into *moment) {
	flags.Var(into, "at", "at this time, as 2026-12-31T18:00:00Z: what has until may have ended (default: now)")
}
