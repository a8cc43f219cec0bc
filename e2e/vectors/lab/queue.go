package lab

import (
	"bytes"
	"os"
)

// queued reports whether a listener has connections that nobody has accepted yet:
// the receive queue of a listening socket counts them (proc_net_tcp).
func queued() bool {
	for _, table := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		content, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(content) {
			// sl local_address rem_address st tx_queue:rx_queue …
			fields := bytes.Fields(line)
			if len(fields) > 4 && string(fields[3]) == "0A" && !bytes.HasSuffix(fields[4], []byte(":00000000")) {
				return true
			}
		}
	}
	return false
}
