// Package session is a client in a lab, and the pipe to it: the lab is another
// process, because a network namespace is entered by being born in it.
package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/lab"
)

// Session is a client that waits for questions. It is not safe for concurrent use.
type Session struct {
	Client  *client.Client
	Version string // as the client says it

	dir     string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	encoder *json.Encoder
	answers *json.Decoder
}

// Question is a URL with the variables in the environment.
type Question struct {
	Env map[string]string `json:"env"`
	URL string            `json:"url"`
}

// Answer is the result of a question.
type Answer struct {
	Contacts []lab.Contact `json:"contacts,omitempty"`
	Problem  string        `json:"problem,omitempty"` // in the client's words
	Error    string        `json:"error,omitempty"`   // of the measurement
}

type hello struct {
	Client string `json:"client"`
	Dir    string `json:"dir"`
	Cache  string `json:"cache"`
}

type ready struct {
	Version string `json:"version"`
	Error   string `json:"error,omitempty"`
}

// Open starts a lab with the client in it. When the context ends, or this
// process does, so does the lab.
func Open(ctx context.Context, c *client.Client, cache string) (*Session, error) {
	dir, err := os.MkdirTemp("", "fairlead-vectors-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the client: %w", err)
	}
	s := &Session{Client: c, dir: dir}
	if err := s.start(ctx, cache); err != nil {
		return nil, errors.Join(fmt.Errorf("a lab with %s: %w", c.Name, err), s.Close())
	}
	return s, nil
}

func (s *Session) start(ctx context.Context, cache string) error {
	s.cmd = exec.CommandContext(ctx, "/proc/self/exe")
	s.cmd.Env = append(os.Environ(), "FAIRLEAD_VECTORS="+insideMode)
	s.cmd.Stderr = os.Stderr
	lab.Isolate(s.cmd)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("namespaces: %w", err)
	}
	s.stdin, s.encoder, s.answers = stdin, json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout))
	var answer ready
	if err := s.exchange(hello{Client: s.Client.Name, Dir: s.dir, Cache: cache}, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	s.Version = answer.Version
	return nil
}

func (s *Session) exchange(question, answer any) error {
	if err := s.encoder.Encode(question); err != nil {
		return fmt.Errorf("the lab has ended: %w", err)
	}
	if err := s.answers.Decode(answer); err != nil {
		return fmt.Errorf("the lab has ended: %w", err)
	}
	return nil
}

// Ask asks one question.
func (s *Session) Ask(question Question) (Answer, error) {
	var answer Answer
	if err := s.exchange(question, &answer); err != nil {
		return answer, err
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("%s: %s: %s", s.Client.Name, question.URL, answer.Error)
	}
	return answer, nil
}

// Close ends the lab and everything in it.
func (s *Session) Close() error {
	if s.cmd != nil {
		_ = s.stdin.Close()
		_ = s.cmd.Wait() // a lab ends when nobody asks any more
	}
	return os.RemoveAll(s.dir)
}
