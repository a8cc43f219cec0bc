package tunnel

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// What the agent of apiserver-network-proxy does without a flag, and what its server takes at the least before it says
// too_many_pings and hangs up (cmd/agent/app/options, cmd/server/app: keepalive.EnforcementPolicy).
const (
	defaultKeepalive = 3600
	leastKeepalive   = 30
)

func (j *judge) beatOfProxyAgent() int {
	text, ok := j.line.flag("--keepalive-time")
	if !ok {
		return defaultKeepalive
	}
	duration, ok := parseDuration(text)
	switch {
	case !ok:
		j.say(Keepalive, lint.Error, "--keepalive-time is no duration: the agent does not start", "--keepalive-time=30s")
	case duration < leastKeepalive:
		j.say(Keepalive, lint.Error, fmt.Sprintf("--keepalive-time=%s is below the 30 seconds of the server, which answers too_many_pings and hangs up", text), "--keepalive-time=30s")
	default:
		return duration
	}
	return 0
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
		if _, ok := j.line.flag("--keepalive-time"); !ok {
			why = "--keepalive-time is not set: " + why
		}
		mend = "--keepalive-time=30s, which is the least that the server takes"
		if j.in.IdleTimeout <= leastKeepalive {
			mend = "let the proxy wait longer: 30 seconds are the least that the server takes"
		}
	}
	j.say(Keepalive, lint.Warning, why, mend)
}

var (
	units        = map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
	durationPart = regexp.MustCompile(`([0-9.]+)([^0-9.]+)`)
)

// parseDuration reads a duration as Go writes it, in whole seconds.
func parseDuration(text string) (int, bool) {
	if text == "0" {
		return 0, true
	}
	total, read := 0.0, ""
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		number, err := strconv.ParseFloat(part[1], 64)
		unit, ok := units[part[2]]
		if err != nil || !ok {
			return 0, false
		}
		total += number * unit
		read += part[0]
	}
	return int(total), text != "" && read == text
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
