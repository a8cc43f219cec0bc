package terminal

import (
	"bytes"
	"testing"
	"time"
)

func TestProgressIsSilentForTwoSecondsAndThenTellsAtMostTenTimesASecond(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	p := &Progress{out: &out, what: "clusters", start: start}
	p.step(1, 9, start.Add(time.Second))
	p.End()
	if out.Len() > 0 {
		t.Fatalf("said %q in the first second", &out)
	}
	for i := range 100 { // one second
		p.step(i, 100, start.Add(progressAfter).Add(time.Duration(i)*10*time.Millisecond))
	}
	p.End()
	if lines := bytes.Count(out.Bytes(), []byte("clusters: ")); lines != 10 {
		t.Errorf("said it %d times in a second, want 10", lines)
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\r\x1b[K")) {
		t.Errorf("the line stays: %q", &out)
	}
}

func TestProgressSaysNothingWhereThereIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, "clusters")
	p.step(1, 2, p.start.Add(time.Hour))
	p.End()
	if out.Len() > 0 {
		t.Errorf("said %q", &out)
	}
}
