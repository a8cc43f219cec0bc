package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

const (
	soakSample = 10 * time.Second
	soakTurn   = time.Minute      // a rotation
	soakOld    = 20 * time.Second // an old account counts for so long after a rotation
	soakRow    = 5 * time.Minute
	soakKill   = 10 * time.Minute
)

// soaking is a relay in a control group with the chart's memory, before a squid that changes its accounts and dies.
type soaking struct {
	*lab
	limit int64 // bytes
	turns int
	dead  []outage
}

// chartsMemory is the limit that the chart fairlead-policies gives a relay, in bytes.
func chartsMemory() (int64, error) {
	text, err := os.ReadFile(repository.Path("charts/fairlead-policies/values.yaml"))
	if err != nil {
		return 0, err
	}
	var values struct {
		Relay struct {
			Resources struct{ Limits map[string]resource.Quantity }
		}
	}
	err = yaml.Unmarshal(text, &values)
	memory := values.Relay.Resources.Limits["memory"]
	return memory.Value(), err
}

// outage is a time without squid.
type outage struct{ from, to time.Time }

// soak prints a row for each five minutes. It fails if a request is lost that was not under way when squid died.
func (l *lab) soak(ctx context.Context, long time.Duration) error {
	s := &soaking{lab: l}
	if err := s.begin(ctx); err != nil {
		return err
	}
	hostile := []string{"192.168.52.21", "192.168.52.22"}
	clients, err := l.clients(ctx, load{What: "soak", Seconds: int(long.Seconds()), Proxy: relayAt, Sources: sources, Hostile: hostile})
	if err != nil {
		return err
	}
	defer clients.Kill()
	return s.watch(ctx, clients, long)
}

func (s *soaking) begin(ctx context.Context) (err error) {
	options := machine.SquidOptions{User: account(0), Password: secret(0), Ports: []int{443, 8080}, Fast: true}
	if s.squid, err = s.StartSquid(ctx, options); err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	if s.limit, err = chartsMemory(); err != nil {
		return err
	}
	if s.memory, err = s.NewMemory(s.limit); err != nil {
		return err
	}
	return s.launch(ctx)
}

// Each account has another password whenever its turn comes.
func account(turn int) string { return []string{"even", "odd"}[turn%2] }
func secret(turn int) string  { return fmt.Sprintf("p%d", turn) }

// write writes the settings of this turn, all at once.
func (s *soaking) write() error {
	url := func(turn int) string { return "http://" + account(turn) + ":" + secret(turn) + "@" + squidAt }
	before := max(0, s.turns-1)
	text := fmt.Sprintf("HTTP_PROXY=%[1]s\nHTTPS_PROXY=%[1]s\nHTTP_PROXY_PREVIOUS=%[2]s\nHTTPS_PROXY_PREVIOUS=%[2]s\nNO_PROXY=\n", url(s.turns), url(before))
	name := filepath.Join(s.folder, "settings")
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// rotate adds the new account to squid, gives it to the relay, and then removes the old account from squid.
func (s *soaking) rotate(ctx context.Context) error {
	s.turns++
	now := map[string]string{account(s.turns): secret(s.turns)}
	both := map[string]string{account(s.turns): secret(s.turns), account(s.turns - 1): secret(s.turns - 1)}
	if err := s.squid.SetUsers(ctx, both); err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	if err := await(ctx, soakOld); err != nil {
		return err
	}
	return s.squid.SetUsers(ctx, now)
}

func (s *soaking) kill(ctx context.Context) error {
	from := time.Now()
	s.squid.Kill()
	err := s.squid.Start(ctx)
	s.dead = append(s.dead, outage{from, time.Now()})
	return err
}

func await(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch changes accounts, kills squid and prints rows until the time is over.
func (s *soaking) watch(ctx context.Context, clients *process.Process, long time.Duration) error {
	fmt.Println("MINUTES  ANSWERED  UNDER WAY WHEN SQUID DIED  LOST  HOSTILE CONNECTIONS  RESIDENT MIB  DESCRIPTORS  ACCOUNTS")
	var told report
	began := time.Now()
	row, dies := min(soakRow, long/2), min(soakKill, long/2)
	for ctx.Err() == nil {
		since := time.Since(began)
		if since >= row || since >= long {
			row += soakRow
			text, err := clients.Log()
			if err != nil {
				return err
			}
			now := reported(text, s.dead)
			if err := s.row(since, now.less(told)); err != nil {
				return err
			}
			told = now
		}
		if since >= long {
			break
		}
		if since >= dies {
			dies += soakKill
			if err := s.kill(ctx); err != nil {
				return err
			}
		}
		turn := time.Now()
		if err := s.rotate(ctx); err != nil {
			return err
		}
		if err := await(ctx, min(soakTurn-time.Since(turn), long-time.Since(began))); err != nil {
			return err
		}
	}
	return s.end(ctx, clients)
}

func (s *soaking) row(since time.Duration, r report) error {
	usage, err := s.usage()
	if err != nil {
		return err
	}
	fmt.Printf("%7.0f  %8d  %24d  %4d  %19d  %12.1f  %11d  %8d\n", since.Minutes(), r.answered, r.underWay, len(r.lost), r.hostile, float64(usage.resident)/1024, usage.descriptors, s.turns)
	return nil
}

// end prints which clients are left, and which losses there were.
func (s *soaking) end(ctx context.Context, clients *process.Process) error {
	if err := clients.Wait(ctx); err != nil {
		return err
	}
	text, err := clients.Log()
	if err != nil {
		return err
	}
	all := reported(text, s.dead)
	if err := await(ctx, soakTurn+soakSample); err != nil { // longer than connections without a request are kept
		return err
	}
	usage, err := s.usage()
	if err != nil {
		return err
	}
	peak, killed, err := s.memory.Peak()
	if err != nil {
		return err
	}
	fmt.Printf("\n%d answered, %d under way when squid died, %d lost; a minute after the last client: %.1f MiB, %d descriptors; the control group had %d MiB at most, of %d, and %d were killed\n",
		all.answered, all.underWay, len(all.lost), float64(usage.resident)/1024, usage.descriptors, peak>>20, s.limit>>20, killed)
	if len(all.lost) > 0 {
		return fmt.Errorf("lost:\n%s", strings.Join(all.lost, "\n"))
	}
	return nil
}

// report sums up the output of the clients.
type report struct {
	answered, hostile int64
	underWay          int
	lost              []string
}

func reported(text string, dead []outage) report {
	var r report
	for line := range strings.Lines(text) {
		var event soakEvent
		switch err := json.Unmarshal([]byte(line), &event); {
		case err != nil:
			r.lost = append(r.lost, "the clients say: "+line)
		case event.Lost == "":
			r.answered, r.hostile = r.answered+event.Answered, r.hostile+event.Hostile
		case within(event, dead):
			r.underWay++
		default:
			r.lost = append(r.lost, fmt.Sprintf("%s, %s to %s: %s", event.Lost, event.Began.Format(time.TimeOnly), event.Ended.Format(time.TimeOnly), event.Reason))
		}
	}
	return r
}

// within reports that there was no squid at some time of a request.
func within(event soakEvent, dead []outage) bool {
	return slices.ContainsFunc(dead, func(d outage) bool { return event.Began.Before(d.to) && event.Ended.After(d.from) })
}

func (r report) less(before report) report {
	return report{r.answered - before.answered, r.hostile - before.hostile, r.underWay - before.underWay, r.lost[len(before.lost):]}
}
