package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("the tunnels do not open")
}

func (l *lab) usage() (usage, error) {
	pid, err := l.relayPID()
	if err != nil {
		return usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return usage{}, err
	}
	resident := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if resident == nil {
		return usage{}, fmt.Errorf("process %d has no memory any more", pid)
	}
	kib, err := strconv.Atoi(string(resident[1]))
	return usage{resident: kib, descriptors: len(descriptors)}, err
}

// relayPID is the process below those that have entered the network.
func (l *lab) relayPID() (int, error) {
	found, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return 0, err
	}
	for _, link := range found {
		if program, err := os.Readlink(link); err == nil && strings.HasSuffix(strings.TrimSuffix(program, " (deleted)"), "/fairlead-relay") { // a cache may have let go of it
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil && l.below(pid) {
				return pid, nil
			}
		}
	}
	return 0, errors.New("there is no relay")
}

// below reports that a process is of our group.
func (l *lab) below(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(text), l.folder)
}
