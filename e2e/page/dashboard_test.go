package page

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
)

const dashboardFile = "../../charts/fairlead/monitoring/dashboard.json"

// dashboard has the fields of a Grafana dashboard that the drawing needs.
type dashboard struct {
	Title  string
	Panels []panel
}

type panel struct {
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}
	Targets []struct {
		Expr, LegendFormat string
		Instant            bool
	}
}

// series is one of Prometheus' answer: at one time, or over the time of the dashboard.
type series struct {
	Metric map[string]string
	Value  sample
	Values []sample
}

type sample struct{ at, value float64 }

func (s *sample) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &[]any{&s.at, &value}); err != nil {
		return err
	}
	var err error
	s.value, err = strconv.ParseFloat(value, 64)
	return err
}

// No Grafana can be had here: AGPL, and in no registry. So a test draws the panels in their grid, with what a real Prometheus
// answers to their queries; the metrics are the operator's own, about a fleet that has a bad morning.
func dashboardPage(t *testing.T) (page, made string) {
	t.Helper()
	text := readFile(t, dashboardFile)
	var d dashboard
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Panels) == 0 {
		t.Fatalf("%d panels: %v", len(d.Panels), err)
	}
	recorded := record(t, text)
	prometheus := startPrometheus(t, recorded)
	answers := make([][]series, len(d.Panels))
	for i, p := range d.Panels {
		for _, target := range p.Targets {
			// "or vector(0)" is for a fleet without problems. This one has them all.
			if len(query(t, prometheus, strings.TrimSuffix(target.Expr, " or vector(0)"), target.Instant)) == 0 {
				t.Errorf("panel %s: %s answers nothing", p.Title, target.Expr)
			}
			answers[i] = append(answers[i], query(t, prometheus, target.Expr, target.Instant)...)
		}
	}
	return write(t, "dashboard.html", draw(t, d, answers)), digest(text + recorded + readFile(t, dashboardTemplate))
}

// startPrometheus starts a real Prometheus with the recorded metrics, and returns the address of its queries.
func startPrometheus(t *testing.T, recorded string) string {
	t.Helper()
	file, config, folder := write(t, "recorded", []byte(recorded)), write(t, "config", nil), t.TempDir()
	data := filepath.Join(folder, "data")
	promtool := exec.CommandContext(t.Context(), installed(t, "promtool"), "tsdb", "create-blocks-from", "openmetrics", file, data)
	if out, err := promtool.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, port.Release())
	started, err := process.Start(t.Context(), process.Spec{
		Name: "prometheus", Path: installed(t, "prometheus"), LogFile: filepath.Join(folder, "log"),
		Args:  []string{"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=100y", "--web.listen-address=" + port.Address()},
		Ready: process.Answers("http://" + port.Address() + "/-/ready"),
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = started.Stop() })
	return "http://" + port.Address() + "/api/v1/query"
}

func query(t *testing.T, address, expr string, instant bool) []series {
	t.Helper()
	ask := url.Values{"query": {expr}, "time": {strconv.FormatInt(morning.Unix(), 10)}}
	if !instant {
		address += "_range"
		ask.Set("start", strconv.FormatInt(morning.Add(-shown).Unix(), 10))
		ask.Set("end", ask.Get("time"))
		ask.Set("step", fmt.Sprint((5 * time.Minute).Seconds()))
	}
	text, err := process.Get(t.Context(), address+"?"+ask.Encode())
	var answer struct{ Data struct{ Result []series } }
	if err == nil {
		err = json.Unmarshal([]byte(text), &answer)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", expr, err, text)
	}
	return answer.Data.Result
}
