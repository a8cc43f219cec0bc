package headers

import (
	"io"
	"time"
)

// lingerTime is how long the other side may go on after the last word.
const lingerTime = 5 * time.Second

// Linger has Close end this side alone at first, and read what the other one still sends, until it ends or time is up. A connection
// that is closed with something unread is reset, and the answer may be lost (RFC 9112, section 9.6).
func (c *Conn) Linger() { c.lingers.Store(true) }

// Close closes the connection.
func (c *Conn) Close() error {
	c.end()
	if c.lingers.Swap(false) && c.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, c.Conn)
	}
	return c.Conn.Close()
}
