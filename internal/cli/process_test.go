package cli_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// program returns a fairlead to run: this test under another name, by which testscript.Main goes.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fairlead")
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(executable, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whoever has read enough, as head has, ends fairlead by it, without a word.
func TestAReaderThatGoesAwayEndsIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), "explain", "a.example", "--no-proxy", "x", "--client", "all")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	cmd.Stdout = write
	complaints := &limited{}
	cmd.Stderr = complaints
	err = cmd.Run()
	_ = write.Close()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGPIPE || len(complaints.text) > 0 {
		t.Errorf("%v: %s", err, complaints.text)
	}
}

type limited struct{ text []byte }

func (l *limited) Write(text []byte) (int, error) {
	l.text = append(l.text, text...)
	return len(text), nil
}

// Ctrl-C, while it reads what nobody types, and while a cluster does not answer.
func TestAnInterruptEndsItAtOnce(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'http://" + silent.Addr().String() + "'}}]\ncontexts: [{name: a, context: {cluster: a, user: ''}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{})
	go func() {
		if conn, err := silent.Accept(); err == nil {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			close(connected)
			<-t.Context().Done()
			_ = conn.Close()
		}
	}()
	interrupted(t, func() { <-connected }, "nodes", "--kubeconfig", kubeconfig)
	interrupted(t, func() {}, "mutate", "-f", "-")
}

func interrupted(t *testing.T, await func(), args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("%q: %v", args, cmd.ProcessState)
	}
}
