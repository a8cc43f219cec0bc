package machine_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
)

var staff = machine.SquidOptions{User: "spoke", Password: "first"}

// A squid removes and makes its shared memory when it starts, and ends if somebody else has made it in between. All
// squids give it the same name.
func TestManySquidsStartAtTheSameMoment(t *testing.T) {
	const many, rounds = 8, 5
	networks, squids := make([]*machine.Network, many), make([]*machine.Squid, many)
	for i := range networks {
		networks[i] = machinetest.Network(t)
		var err error
		squids[i], err = networks[i].StartSquid(t.Context(), staff)
		controlplanetest.Require(t, err)
	}
	for _, other := range networks[1:] { // the rounds may be lucky
		if os.SameFile(sharedMemory(t, networks[0]), sharedMemory(t, other)) {
			t.Fatal("two squids have the same shared memory")
		}
	}
	for range rounds {
		for _, squid := range squids {
			squid.Kill()
		}
		var all sync.WaitGroup
		for _, squid := range squids {
			all.Go(func() {
				if err := squid.Start(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return // what has not started cannot be killed
		}
	}
}

// sharedMemory is made after squid listens.
func sharedMemory(t *testing.T, network *machine.Network) (file os.FileInfo) {
	t.Helper()
	controlplanetest.Await(t, "squid's shared memory", func(context.Context) (bool, error) {
		var err error
		file, err = os.Stat(network.Path("/dev/shm/squid-cf__metadata.shm"))
		return err == nil, err
	})
	return file
}

func TestTheErrorOfASquidThatDoesNotStartHasItsReason(t *testing.T) {
	network := machinetest.Network(t)
	squid, err := network.StartSquid(t.Context(), staff)
	controlplanetest.Require(t, err)
	squid.Kill()
	log := network.Path(machine.Dir, "squid", "access.log")
	controlplanetest.Require(t, os.Remove(log))
	controlplanetest.Require(t, os.Mkdir(log, 0o755))
	err = squid.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "FATAL: ") || !strings.Contains(err.Error(), "access.log") {
		t.Errorf("the error is %v", err)
	}
}
