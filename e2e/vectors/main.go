// Command vectors measures what the real clients of this machine do, and merges
// it into the table that the dialects are tested with. It prints the rows that
// have changed, and how far it is.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/fairlead-io/fairlead/e2e/vectors/session"
)

func main() {
	session.Main()
	var o options
	flag.StringVar(&o.clients, "clients", "", "names of clients, with commas between them; all of them if empty")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "how many clients to measure at once")
	flag.IntVar(&o.cases, "cases", 2000, "how many generated questions to compare with the dialects")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the generated questions")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	clients         string
	parallel, cases int
	seed            uint64
}
