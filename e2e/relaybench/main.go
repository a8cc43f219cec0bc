// Command relaybench measures fairlead-relay next to squid: each alone to the same destination, alternating, then the relay in
// front of squid. Client, proxies and destination are processes of their own; the destination is in another network.
// docs/reference/scale.md has the figures.
//
//	relaybench           all
//	relaybench soak 1h   the relay among clients, hostile ones too, while accounts change and squid dies
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	tools.Released = true
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relaybench:", err)
		os.Exit(1)
	}
}

// run is the whole, or a part in one of its networks.
func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return inLab(ctx, func(l *lab) error { return l.measure(ctx) })
	case len(args) == 1:
		return fmt.Errorf("%s what?", args[0])
	case args[0] == "soak":
		long, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		return inLab(ctx, func(l *lab) error { return l.soak(ctx, long) })
	case args[0] == "serve":
		return serve(args[1])
	}
	var l load
	if err := json.Unmarshal([]byte(args[1]), &l); err != nil {
		return err
	}
	found, err := l.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

const (
	user, password = "bench", "bench"
	relayPort      = 3130
	rounds         = 3
)

var (
	destination = net.JoinHostPort(machine.InternetAddress, "8080")
	squidAt     = net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort))
	relayAt     = net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(relayPort))
)

// lab has the programs in the networks.
type lab struct {
	*machine.Network
	self, folder string
	relay        *process.Process
	squid        *machine.Squid
	memory       *machine.Memory // of the relay; nil: without a limit
}

// inLab does something with the networks and the destination.
func inLab(ctx context.Context, do func(*lab) error) error {
	network, err := machine.Start(ctx)
	if err != nil {
		return err
	}
	defer network.Close() //nolint:errcheck // all has been said
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "relaybench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	l := &lab{Network: network, self: self, folder: folder}
	if err := l.start(ctx); err != nil {
		return err
	}
	return do(l)
}

func (l *lab) start(ctx context.Context) error {
	for _, network := range []machine.Namespace{machine.Corp, machine.DMZ, machine.Internet} {
		// Else the ports of ended connections run out after a second, and looking for a free one is all that is measured.
		if _, err := l.Run(ctx, network, nil, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/tcp_max_tw_buckets"); err != nil {
			return err
		}
	}
	_, err := l.Start(ctx, machine.Internet, process.Spec{
		Name: "destination", Path: l.self, Args: []string{"serve", destination}, Ready: l.Answers(machine.DMZ, destination),
	})
	return err
}

// startSquid starts it anew: after some thousand tunnels it is slower.
func (l *lab) startSquid(ctx context.Context) (err error) {
	if l.squid != nil {
		if err := l.squid.Stop(); err != nil {
			return err
		}
	}
	l.squid, err = l.StartSquid(ctx, machine.SquidOptions{User: user, Password: password, Ports: []int{8080}, Fast: true})
	return err
}

// startRelay starts it anew, with a NO_PROXY list. The destination is reached directly if the list has it, else through squid.
func (l *lab) startRelay(ctx context.Context, list string) error {
	proxy := "http://" + user + ":" + password + "@" + squidAt
	for name, text := range map[string]string{
		"settings":    fmt.Sprintf("HTTP_PROXY=%[1]s\nHTTPS_PROXY=%[1]s\nNO_PROXY=%[2]s\n", proxy, list),
		"policy.yaml": "direct: {networks: [" + machine.InternetAddress + "]}\n",
	} {
		if err := os.WriteFile(filepath.Join(l.folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return l.launch(ctx, "--policy="+filepath.Join(l.folder, "policy.yaml"))
}

// launch starts the relay with the settings in the folder, in the place of one that runs.
func (l *lab) launch(ctx context.Context, flags ...string) error {
	if l.relay != nil {
		if err := l.relay.Stop(); err != nil {
			return err
		}
	}
	program, err := tools.Program(ctx, "fairlead-relay")
	if err != nil {
		return err
	}
	spec := process.Spec{
		Name: "relay", Path: program,
		Args:  append([]string{"--listen=" + relayAt, "--proxy=" + l.folder, "--health-address=127.0.0.1:8099", "--grace-period=0s"}, flags...),
		Ready: l.Answers(machine.Corp, relayAt),
	}
	if l.memory != nil {
		spec = l.memory.Within(spec)
	}
	l.relay, err = l.Start(ctx, machine.DMZ, spec)
	return err
}

// subject is a proxy that is measured.
type subject struct {
	name, address string
	relayed       bool
	list          string
}

var subjects = []subject{
	{name: "squid", address: squidAt},
	{name: "relay", address: relayAt, relayed: true, list: machine.InternetAddress},
	{name: "relay, 600 entries", address: relayAt, relayed: true, list: many + "," + machine.InternetAddress},
	{name: "relay, squid", address: relayAt, relayed: true},
	{name: "relay, squid, 600 entries", address: relayAt, relayed: true, list: many},
}

// many are 600 entries that cover no destination here: networks and names in turn.
var many = func() string {
	var entries []string
	for i := range 300 {
		entries = append(entries, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), fmt.Sprintf(".team-%d.corp.example", i))
	}
	return strings.Join(entries, ",")
}()

var loads = []load{
	{What: "GET", Clients: 16, Seconds: 3},
	{What: "GET", Clients: 1, Seconds: 3},
	{What: "CONNECT", Clients: 16, Seconds: 3},
	{What: "CONNECT", Clients: 1, Seconds: 3},
	{What: "bytes", Clients: 1, Seconds: 3},
}

func (l *lab) measure(ctx context.Context) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "WHAT\tCLIENTS\tTHROUGH\tPER SECOND\tP50\tP99\tMIB PER SECOND")
	for _, load := range loads {
		best := map[subject]found{}
		for range rounds {
			for _, s := range subjects {
				now, err := l.one(ctx, s, load)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, load.What, err)
				}
				if now.Rate+now.MiB > best[s].Rate+best[s].MiB {
					best[s] = now
				}
			}
		}
		for _, s := range subjects {
			f := best[s]
			fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%s\t%s\t%.0f\n", load.What, load.Clients, s.name, f.Rate, f.P50.Round(time.Microsecond), f.P99.Round(time.Microsecond), f.MiB)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return l.idle(ctx)
}

func (l *lab) one(ctx context.Context, s subject, load load) (found, error) {
	if err := l.startSquid(ctx); err != nil {
		return found{}, err
	}
	if s.relayed {
		if err := l.startRelay(ctx, s.list); err != nil {
			return found{}, err
		}
	}
	load.Proxy = s.address
	return l.load(ctx, load)
}

// text is the load as run reads it.
func (l load) text() string {
	text, _ := json.Marshal(l) // text and numbers can be marshalled
	return string(text)
}

// load runs a client in the network of the proxies: what they take is not hidden by a way to them.
func (l *lab) load(ctx context.Context, load load) (found, error) {
	out, err := l.Run(ctx, machine.DMZ, nil, l.self, "load", load.text())
	if err != nil {
		return found{}, err
	}
	var f found
	return f, json.Unmarshal(out, &f)
}

// clients starts some in corp, at the addresses of the load.
func (l *lab) clients(ctx context.Context, load load) (*process.Process, error) {
	for _, address := range slices.Concat(load.Sources, load.Hostile) {
		if _, err := l.Run(ctx, machine.Corp, nil, "ip", "address", "add", address+"/24", "dev", "eth0"); err != nil {
			return nil, err
		}
	}
	return l.Start(ctx, machine.Corp, process.Spec{Name: load.What, Path: l.self, Args: []string{"load", load.text()}})
}
