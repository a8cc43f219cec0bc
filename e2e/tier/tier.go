// Package tier says which tests make test leaves out. The Makefile has the packages of each tier; a test here keeps its
// lists whole.
package tier

import "testing"

// Full leaves a test to make test-all: make test runs go test -short. It is the first line of a test, or of a part of one.
func Full(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}

// Short says whether make test runs, for a part of a test that is no test of its own.
func Short() bool { return testing.Short() }
