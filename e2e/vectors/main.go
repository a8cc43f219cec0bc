// Command vectors measures what the real clients of this machine do, and merges
// it into the table that the dialects are tested with. It prints the rows that
// have changed, and how far it is.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/fairlead-io/fairlead/e2e/vectors/session"
)

func main() {
	session.Main()
	clients := flag.String("clients", "", "names of clients, with commas between them; all of them if empty")
	parallel := flag.Int("parallel", runtime.NumCPU(), "how many clients to measure at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *clients, *parallel); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}
