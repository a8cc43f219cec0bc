// Command fairlead renders what the operator would write, without a cluster.
// Installed as kubectl-fairlead it is a plugin of kubectl.
package main

import (
	"os"

	"github.com/fairlead-io/fairlead/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
