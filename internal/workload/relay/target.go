package relay

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/fairlead-io/fairlead/noproxy"
)

// Target is a hub: where a CONNECT goes to, and by its port where the relay listens.
type Target struct {
	Host string // a name, or an IP address without brackets
	Port uint16
}

func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// ParseTargets reads host:port of each target. A port belongs to one target, since all names lead to 127.0.0.1: a
// second one is refused. An error names the target.
func ParseTargets(texts []string) ([]Target, error) {
	if len(texts) == 0 {
		return nil, errors.New("there is no target: say --target=host:port")
	}
	var targets []Target
	owners := map[uint16]string{healthPort: "the relay's own /healthz and /readyz"}
	for _, text := range texts {
		target, err := parseTarget(text)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w", text, err)
		}
		if owner, ok := owners[target.Port]; ok {
			return nil, fmt.Errorf("target %q: port %d is that of %s: both would be 127.0.0.1:%[2]d", text, target.Port, owner)
		}
		owners[target.Port] = target.String()
		targets = append(targets, target)
	}
	return targets, nil
}

func parseTarget(text string) (Target, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Target{}, errors.New("it is not host:port; an IPv6 address stands in brackets")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return Target{}, errors.New("the port is not a number from 1 to 65535")
	}
	entry, err := noproxy.HostEntry(host)
	if err != nil {
		return Target{}, errors.New("the host is neither a host name nor an IP address")
	}
	if entry.Kind == noproxy.Addr {
		return Target{Host: entry.Prefix.Addr().String(), Port: uint16(number)}, nil
	}
	return Target{Host: entry.Name, Port: uint16(number)}, nil
}
