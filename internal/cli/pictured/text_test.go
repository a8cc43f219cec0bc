package pictured_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/cli/pictured"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/picture/picturetest"
)

func TestWhatExpiresDoesNotMoveTheCursorAndIsOneScreen(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	p := picture.Picture{Time: now}
	for i := range 14 {
		what := fmt.Sprintf("ProxyOverride org/c%d (lead\x1b[2J: tries%s cut.off)", i, strings.Repeat(" and tries", 20))
		p.Expires = append(p.Expires, picture.Expiry{What: what, Time: metav1.NewTime(now.Add(time.Hour)), More: "kubectl describe"})
	}
	text := string(pictured.Text(terminal.Style{}, p, ""))
	if strings.Contains(text, "\x1b") || strings.Contains(text, "cut.off") || !strings.Contains(text, `org/c0 (lead\x1b[2J: tries and`) {
		t.Error(text)
	}
	if !strings.Contains(text, "org/c11 ") || strings.Contains(text, "org/c12 ") || !strings.HasSuffix(text, "\nand 2 more: -o json has all\n") {
		t.Error(text)
	}
	p.Expires = p.Expires[:12]
	if text = string(pictured.Text(terminal.Style{}, p, "")); strings.Contains(text, " more:") {
		t.Error(text)
	}
}

// Nobody knows then how the clusters are now.
func TestAStoppedOperatorIsSaidInTheFirstLine(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	in := picture.Input{Now: now, Lease: &diagnosis.Lease{}}
	in.Reports, _, in.Clusters = picturetest.Fleet(1, now)
	p := picture.Of(in)
	if line := pictured.States(terminal.Style{}, p); line != "1 cluster, as before the operator stopped: 1 Fine" {
		t.Error(line)
	}
	var page strings.Builder
	if err := pictured.HTML(&page, p, ""); err != nil || !strings.Contains(page.String(), "<h1>all 1 clusters are fine, as before the operator stopped</h1>") {
		t.Error(err)
	}
}
