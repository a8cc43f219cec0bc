package machine_test

import (
	"context"
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
)

// A squid removes and makes its shared memory when it starts, and ends if somebody else has made it in between. All
// squids give it the same name.
func TestTwoSquidsHaveNoSharedMemoryInCommon(t *testing.T) {
	networks := []*machine.Network{machinetest.Network(t), machinetest.Network(t)}
	for _, network := range networks {
		_, err := network.StartSquid(t.Context(), machine.SquidOptions{User: "spoke", Password: "first"})
		controlplanetest.Require(t, err)
	}
	if os.SameFile(sharedMemory(t, networks[0]), sharedMemory(t, networks[1])) {
		t.Error("two squids have the same shared memory")
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
