// Command scale measures the operator at the size of a fleet: on a real API server, with the programs of a control plane as
// plain processes, all in one run. docs/reference/scale.md has the figures.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

type options struct {
	Clusters, Machines int // machines of each cluster
	Rounds             int
	New                int           // clusters that are created on the quiet fleet, and as many during fan-outs
	Pace               time.Duration // from one of them to the next
	InNamespace        int           // clusters in each namespace
	Entries            int           // of the CorporateProxy, beside those of its Secret
	Bundle             int           // KiB of certificates that machines are to trust
	Rest               time.Duration
	Deliver            bool // to every cluster, by "fairlead-operator deliver"
}

func main() {
	log.SetLogger(logr.Discard()) // controller-runtime complains otherwise
	klog.SetLogger(logr.Discard())
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} { // the operator's are those of its Deployment
		_ = os.Unsetenv(name)
	}
	options := options{Rounds: 3, New: 100, Pace: 120 * time.Millisecond, Rest: time.Minute}
	flag.IntVar(&options.Clusters, "clusters", 2000, "how many clusters the fleet has")
	flag.IntVar(&options.Machines, "machines", 0, "how many machines each cluster has")
	flag.IntVar(&options.InNamespace, "in-namespace", 20, "how many clusters a namespace has")
	flag.IntVar(&options.Entries, "entries", 0, "how many entries the CorporateProxy adds to the twelve of its Secret; 4096 at most")
	flag.IntVar(&options.Bundle, "bundle", 0, "KiB of certificates that machines are to trust")
	flag.BoolVar(&options.Deliver, "deliver", false, "run \"fairlead-operator deliver\" too, for every cluster; no Cluster API applies what it makes")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	tools.Released = true
	rows, err := measure(ctx, options)
	writeTable(os.Stdout, rows) // what there is, also after an error
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
}
