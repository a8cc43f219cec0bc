package tunnel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// What the agent of apiserver-network-proxy does without a flag, and what its server takes at the least before it says
// too_many_pings and hangs up (cmd/agent/app/options, cmd/server/app: keepalive.EnforcementPolicy).
const (
	defaultKeepalive = 3600
	leastKeepalive   = 30
)

func (j *judge) beatOfProxyAgent() int {
	text, found := j.line.flag("--keepalive-time")
	if !found {
		return defaultKeepalive
	}
	duration, ok := parseDuration(text)
	if !ok {
		j.say(Keepalive, lint.Error, "--keepalive-time is no duration: the agent does not start", "--keepalive-time=30s")
		return 0
	}
	if duration < leastKeepalive {
		j.say(Keepalive, lint.Error, fmt.Sprintf("--keepalive-time=%s is below the 30 seconds of the server, which answers too_many_pings and hangs up", text), "--keepalive-time=30s")
		return 0
	}
	return duration
}

// keepalive compares how long the agent is silent with how long the proxy is patient.
func (j *judge) keepalive() {
	if j.program.beat == nil {
		return
	}
	beat := j.program.beat(j)
	if beat < j.in.IdleTimeout || beat == 0 {
		return
	}
	why := fmt.Sprintf("silent for %s, and a proxy cuts what is idle for %s", span(beat), span(j.in.IdleTimeout))
	mend := ""
	if j.program.name == proxyAgent {
		if _, found := j.line.flag("--keepalive-time"); !found {
			why = "--keepalive-time is not set: " + why
		}
		mend = "--keepalive-time=30s, which is the least that the server takes"
		if j.in.IdleTimeout <= leastKeepalive {
			mend = "let the proxy wait longer: 30 seconds are the least that the server takes"
		}
	}
	j.say(Keepalive, lint.Warning, why, mend)
}

// parseDuration reads a duration as Go writes it, in whole seconds.
func parseDuration(text string) (int, bool) {
	units := map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
	total := 0.0
	if text == "0" {
		return 0, true
	}
	for rest := text; rest != ""; {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if digits <= 0 {
			return 0, false
		}
		number, err := strconv.ParseFloat(rest[:digits], 64)
		rest = rest[digits:]
		end := strings.IndexAny(rest, "0123456789.")
		if end < 0 {
			end = len(rest)
		}
		unit, known := units[rest[:end]]
		if err != nil || !known {
			return 0, false
		}
		total += number * unit
		rest = rest[end:]
	}
	return int(total), text != ""
}

// span writes seconds for people.
func span(n int) string {
	switch {
	case n%3600 == 0 && n > 0:
		return strconv.Itoa(n/3600) + "h"
	case n%60 == 0 && n > 0:
		return strconv.Itoa(n/60) + "m"
	}
	return strconv.Itoa(n) + "s"
}
