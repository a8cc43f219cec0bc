// Command reference writes docs/reference/metrics.md, which is made of the code. It runs in the root of the repository, as
// make generate does.
package main

import (
	"fmt"
	"os"
)

const page = "docs/reference/metrics.md"

const header = "<!-- Made by make generate: change the code instead. -->\n\n"

func main() {
	if err := os.WriteFile(page, []byte(metrics()), 0o644); err != nil { //nolint:gosec // for all to read
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}
