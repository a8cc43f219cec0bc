package probe

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// targetsFile is read each round. A text that is no list changes nothing; from a list, the valid targets count.
type targetsFile struct {
	path string // empty: there is none
	log  *slog.Logger

	known   bool // text was read
	text    string
	last    []probe.Target
	problem error
}

// read returns the targets as they are now.
func (f *targetsFile) read() []probe.Target {
	if f.path == "" {
		return nil
	}
	text, err := os.ReadFile(f.path)
	if err == nil && f.known && string(text) == f.text {
		return f.last
	}
	var targets []probe.Target
	if f.known = err == nil; f.known {
		f.text = string(text)
		targets, err = probe.ParseTargets(text)
	}
	if err != nil {
		err = fmt.Errorf("targets %s: %w", f.path, err)
	}
	if err != nil && (f.problem == nil || f.problem.Error() != err.Error()) {
		f.log.Error("not all targets are tried", "reason", err)
	}
	if f.problem = err; err == nil || len(targets) > 0 {
		f.last = targets
	}
	return f.last
}

// defaults returns the targets that are known without anybody saying them: the cluster's own endpoint, which no proxy leads to.
func defaults(getenv func(string) string) []probe.Target {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil
	}
	return []probe.Target{{URL: "https://" + probe.Destination{Host: host, Port: port}.Address(), Expect: probe.Reachable, Route: probe.Direct}}
}
