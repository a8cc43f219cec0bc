package process

import (
	"bytes"
	"fmt"
	"os"
)

const tailLines = 25

// tail is the end of a log, for an error.
func tail(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return fmt.Sprintf("the last lines of %s:\n%s", file, bytes.Join(lines, []byte("\n")))
}
