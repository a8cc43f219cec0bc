// Command fairlead renders what the operator would write, without a cluster.
// Installed as kubectl-fairlead it is a plugin of kubectl.
package main

import (
	"io"
	"log"
	"os"

	"github.com/fairlead-io/fairlead/internal/cli"
)

func main() {
	log.SetOutput(io.Discard) // net/http writes there what a proxy says unasked, which may be what it was told
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
