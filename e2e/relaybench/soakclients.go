package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	clientsOfAKind  = 10
	hostileOfAKind  = 20
	soakBody        = 64 << 10 // bytes
	soakPause       = 50 * time.Millisecond
	hostileLifetime = 10 * time.Second // at most
	tunnelLifetime  = 2 * time.Minute  // about
	soakPatience    = 40 * time.Second // more than a relay takes until it answers
)

// soakEvent is a line of the clients: a request that was lost, or how many were answered since the last such line.
type soakEvent struct {
	Lost         string    `json:",omitempty"` // the kind of client
	Reason       string    `json:",omitempty"`
	Began, Ended time.Time `json:",omitzero"`
	Answered     int64     `json:",omitempty"`
	Hostile      int64     `json:",omitempty"` // connections
}

// soakers are the clients of a soak.
type soakers struct {
	load
	answered, hostile atomic.Int64
	mutex             sync.Mutex
	out               *json.Encoder
}

// soakClients runs clients of all kinds, and hostile ones, until the time is over.
func soakClients(ctx context.Context, l load) error {
	s := &soakers{load: l, out: json.NewEncoder(os.Stdout)}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.Seconds)*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for kind, request := range map[string]func() error{
		"GET": s.get, "POST": s.post, "CONNECT": s.connect, "download": s.downloadOnce, "long tunnel": nil,
	} {
		for range clientsOfAKind {
			all.Go(func() {
				for ctx.Err() == nil {
					if request == nil {
						s.longTunnel(ctx, kind)
					} else {
						s.note(kind, request)
					}
					_ = await(ctx, soakPause)
				}
			})
		}
	}
	hostile := l
	hostile.Sources = l.Hostile
	for _, attack := range attacks {
		for range hostileOfAKind {
			all.Go(func() {
				for ctx.Err() == nil {
					if hostile.attack(ctx, attack, rand.N(hostileLifetime)) {
						s.hostile.Add(1)
					}
					_ = await(ctx, rand.N(time.Second))
				}
			})
		}
	}
	all.Go(func() {
		for ctx.Err() == nil {
			_ = await(ctx, soakSample)
			s.say(soakEvent{Answered: s.answered.Swap(0), Hostile: s.hostile.Swap(0)})
		}
	})
	all.Wait()
	return nil
}

func (s *soakers) say(event soakEvent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_ = s.out.Encode(event) // to a file
}

// note counts a request that is answered, and says which is not.
func (s *soakers) note(kind string, request func() error) bool {
	return s.noteSince(time.Now(), kind, request)
}

// noteSince is note for a request on what has been open since then.
func (s *soakers) noteSince(began time.Time, kind string, request func() error) bool {
	if err := request(); err != nil {
		s.say(soakEvent{Lost: kind, Reason: err.Error(), Began: began, Ended: time.Now()})
		return false
	}
	s.answered.Add(1)
	return true
}

// exchange asks on a connection of its own.
func (s *soakers) exchange(request string) error {
	conn, reader, err := s.dial()
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the answer has come, or not
	if err := conn.SetDeadline(time.Now().Add(soakPatience)); err != nil {
		return err
	}
	return ask(conn, reader, request, small)
}

func (s *soakers) get() error {
	return s.exchange(fmt.Sprintf("GET http://%[1]s/%[2]d HTTP/1.1\r\nHost: %[1]s\r\n\r\n", destination, small))
}

func (s *soakers) post() error {
	return s.exchange(fmt.Sprintf("POST http://%[1]s/%[2]d HTTP/1.1\r\nHost: %[1]s\r\nContent-Length: %[3]d\r\n\r\n%[4]s", destination, small, soakBody, strings.Repeat("a", soakBody)))
}

func (s *soakers) connect() error {
	_, err := s.tunnelled()
	return err
}

// downloadOnce reads 4 MiB through a tunnel.
func (s *soakers) downloadOnce() error {
	conn, reader, err := s.open()
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // all has been read, or not
	if err := conn.SetDeadline(time.Now().Add(soakPatience)); err != nil {
		return err
	}
	return askThrough(conn, reader, 4<<20)
}

// longTunnel asks once a second through one tunnel.
func (s *soakers) longTunnel(ctx context.Context, kind string) {
	var conn net.Conn
	opened := s.note(kind, func() (err error) {
		opened, reader, err := s.open()
		if err != nil {
			return err
		}
		conn = opened
		end := time.Now().Add(tunnelLifetime/2 + rand.N(tunnelLifetime))
		for last := time.Now(); last.Before(end) && ctx.Err() == nil; last = time.Now() {
			_ = await(ctx, time.Second)
			if !s.noteSince(last, kind+", a request", func() error {
				if err := conn.SetDeadline(time.Now().Add(soakPatience)); err != nil {
					return err
				}
				return askThrough(conn, reader, small)
			}) {
				return nil
			}
		}
		return nil
	})
	if opened {
		_ = conn.Close()
	}
}
