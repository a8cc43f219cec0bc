package terminal

import (
	"bytes"
	"testing"
)

func TestABarIsForTerminals(t *testing.T) {
	for _, test := range []struct {
		style    Style
		done, of int
		want     string
	}{
		{Style{}, 1, 2, ""},
		{Style{width: 40}, 1, 2, "[##########----------] "},
		{Style{width: 200}, 0, 2, "[----------------------------------------] "},
		{Style{width: 40}, 3, 2, "[####################] "},
		{Style{width: 40}, 0, 0, ""},
	} {
		if got := test.style.Bar(test.done, test.of); got != test.want {
			t.Errorf("%d of %d: %q", test.done, test.of, got)
		}
	}
}

func TestATextReplacesTheOneBeforeAlsoWhereItsLinesAreLong(t *testing.T) {
	var out bytes.Buffer
	s := &Screen{out: &out, style: Style{width: 10}}
	s.Show([]byte("0123456789\n0123456789a\n\n")) // 1, 2 and 1 lines
	s.Show([]byte("x\n"))
	s.Clear()
	s.Clear()
	if want := "0123456789\n0123456789a\n\n\x1b[4A\x1b[Jx\n\x1b[1A\x1b[J"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}
