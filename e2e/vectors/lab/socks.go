package lab

import "io"

// afterSocks4 grants the request: version, command, port, address, user, NUL, and
// in version 4a, where the address is 0.0.0.x, a name and NUL.
func (l *Lab) afterSocks4(p peer) {
	request := make([]byte, 8)
	if _, err := io.ReadFull(p, request); err != nil {
		return
	}
	if _, err := p.ReadBytes(0); err != nil {
		return
	}
	if address := request[4:8]; address[0] == 0 && address[1] == 0 && address[2] == 0 && address[3] != 0 {
		if _, err := p.ReadBytes(0); err != nil {
			return
		}
	}
	_, _ = p.Write([]byte{0, 0x5a, 0, 0, 0, 0, 0, 0})
	l.playTarget(p)
}

const (
	withoutPassword = 0x00
	withPassword    = 0x02
)

// negotiateSocks5 is RFC 1928 as far as clients go. It asks for a password if
// one is offered, to see which.
func negotiateSocks5(p peer) (how string, ready bool) {
	const broken = "socks5 broken off"
	methods, ok := readCounted(p, 1)
	if !ok {
		return broken, false
	}
	method := byte(withoutPassword)
	for _, offered := range methods {
		if offered == withPassword {
			method = withPassword
		}
	}
	_, _ = p.Write([]byte{socks5, method})
	auth := ""
	if method == withPassword { // RFC 1929
		user, _ := readCounted(p, 1)
		password, ok := readCounted(p, 0)
		if !ok {
			return broken, false
		}
		auth = " auth=" + latin1(user) + ":" + latin1(password)
		_, _ = p.Write([]byte{1, 0})
	}
	target, ok := readSocks5Target(p)
	if !ok {
		return broken + auth, false
	}
	_, _ = p.Write([]byte{socks5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return "socks5 target=" + target + auth, true
}

// readSocks5Target reads a request to connect and says how it names the target.
func readSocks5Target(p peer) (kind string, ok bool) {
	head := make([]byte, 4) // version, command, reserved, kind of address
	if _, err := io.ReadFull(p, head); err != nil {
		return "", false
	}
	length := map[byte]int{1: 4, 4: 16}[head[3]]
	kind = "ip"
	if head[3] == 3 {
		if _, ok := readCounted(p, 0); !ok {
			return "", false
		}
		kind = "name"
	}
	_, err := io.ReadFull(p, make([]byte, length+2)) // and the port
	return kind, err == nil
}

// readCounted skips bytes and reads as many as the next one says.
func readCounted(p peer, skip int) ([]byte, bool) {
	head := make([]byte, skip+1)
	if _, err := io.ReadFull(p, head); err != nil {
		return nil, false
	}
	content := make([]byte, head[skip])
	_, err := io.ReadFull(p, content)
	return content, err == nil
}
