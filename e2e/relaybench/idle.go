package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// idleTunnels are within the limit of 20,000 file descriptors of a process on many machines.
const idleTunnels = 4000

// sources are pods: one has fewer connections.
var sources = []string{"192.168.52.11", "192.168.52.12", "192.168.52.13", "192.168.52.14"}

// usage has the resources of a process.
type usage struct {
	resident, descriptors int // KiB, count
}

// idle prints what open tunnels take that carry nothing.
func (l *lab) idle(ctx context.Context) error {
	if err := l.startRelay(ctx, machine.InternetAddress); err != nil {
		return err
	}
	if _, err := l.load(ctx, load{What: "CONNECT", Clients: 16, Seconds: 1, Proxy: relayAt}); err != nil { // the heap has grown
		return err
	}
	before, err := l.usage()
	if err != nil {
		return err
	}
	client, err := l.clients(ctx, load{What: "idle", Clients: idleTunnels, Proxy: relayAt, Sources: sources})
	if err != nil {
		return err
	}
	defer client.Kill()
	if err := opened(ctx, client); err != nil {
		return err
	}
	after, err := l.usage()
	if err != nil {
		return err
	}
	per := func(kib int) float64 { return float64(kib) / idleTunnels }
	fmt.Printf("\n%d idle tunnels, each: %.1f KiB resident, %.2f descriptors; the relay without them: %.1f MiB resident\n", idleTunnels,
		per(after.resident-before.resident), per(after.descriptors-before.descriptors), float64(before.resident)/1024)
	return nil
}

func opened(ctx context.Context, client *process.Process) error {
	for range 600 {
		if log, err := client.Log(); err == nil && strings.Contains(log, "open") {
			return nil
		} else if log != "" {
			return errors.New(log)
		}
		if err := await(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the tunnels do not open")
}

func (l *lab) usage() (usage, error) {
	pid, err := l.relayPID()
	if err != nil {
		return usage{}, err
	}
	memory, err := process.MemoryOf(pid)
	if err == nil && memory.Now == 0 {
		err = fmt.Errorf("process %d has no memory any more", pid)
	}
	if err != nil {
		return usage{}, err
	}
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return usage{resident: memory.Now, descriptors: len(descriptors)}, err
}

// relayPID is the process below those that have entered the network.
func (l *lab) relayPID() (int, error) {
	found, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return 0, err
	}
	for _, link := range found {
		program, err := os.Readlink(link)
		if err != nil || !strings.HasSuffix(strings.TrimSuffix(program, " (deleted)"), "/fairlead-relay") { // a cache may have let go of it
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		if err == nil && strings.Contains(string(command), l.folder) { // it is ours
			return strconv.Atoi(strings.Split(link, "/")[2])
		}
	}
	return 0, errors.New("there is no relay")
}
