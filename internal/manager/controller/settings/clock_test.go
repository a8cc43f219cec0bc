package settings

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

func TestWhatHasEndedDoesNotComeBackWithAClockThatIsSetBack(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	c := &Clock{}
	for _, step := range []struct {
		proxy     string
		now, want time.Time
	}{
		{"p", noon, noon},
		{"p", noon.Add(-time.Hour), noon},
		{"q", noon.Add(time.Minute), noon.Add(time.Minute)},
		{"p", noon.Add(-time.Hour), noon.Add(time.Minute)},
	} {
		if got := c.At(step.proxy, step.now); !got.Equal(step.want) {
			t.Errorf("%s at %s: %s, want %s", step.proxy, step.now, got, step.want)
		}
	}
	c.Recorded("p", noon.Add(4*time.Minute), noon) // by an earlier process
	c.Recorded("p", noon, noon)
	if p, q := c.At("p", noon), c.At("q", noon); !p.Equal(noon.Add(4*time.Minute)) || !q.Equal(noon.Add(time.Minute)) {
		t.Errorf("%s, %s", p, q)
	}
}

func TestWhatWasRecordedInTheFutureEndsNothing(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	c, nextYear := &Clock{}, noon.AddDate(1, 0, 0) // by a clock that was ahead
	c.Recorded("p", nextYear, noon)
	if got := c.At("p", noon); !got.Equal(noon) {
		t.Errorf("it is %s", got)
	}
	c.Recorded("p", noon.Add(5*time.Minute), noon)
	if got := c.At("p", noon); !got.Equal(noon.Add(5 * time.Minute)) {
		t.Errorf("it is %s", got)
	}
	c.Recorded("p", noon.Add(-time.Hour), nextYear) // this process has seen that time itself
	if got := c.At("p", noon); !got.Equal(nextYear) {
		t.Errorf("it is %s", got)
	}
}

func TestHowLongNothingEnds(t *testing.T) {
	now := time.Now()
	for next, want := range map[time.Time]time.Duration{
		{}: 0, now.Round(0).Add(time.Minute): time.Minute, now.Add(-time.Minute): time.Millisecond, now.AddDate(1, 0, 0): LongestLook,
	} {
		if got := UntilEnd(next, now); got != want {
			t.Errorf("%s: %s, want %s", next, got, want)
		}
	}
	for _, test := range [][3]time.Duration{{0, 0, 0}, {0, 2, 2}, {2, 0, 2}, {1, 2, 1}, {2, 1, 1}} {
		if got := machinery.Soonest(test[0], test[1]); got != test[2] {
			t.Errorf("%v: %d", test, got)
		}
	}
}
