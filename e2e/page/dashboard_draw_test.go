package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

const dashboardTemplate = "testdata/dashboard.html"

// The grid of Grafana has 24 columns.
const (
	column, row = 50, 34
	legendRoom  = 26
)

var palette = []string{"#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#f2495c", "#b877d9", "#8ab8ff", "#96d98d"}

// thresholdColours are those that thresholds name.
var thresholdColours = map[string]string{"green": "#73bf69", "orange": "#ff9830", "red": "#f2495c"}

// drawn is a panel as the template has it.
type drawn struct {
	Title, Type                  string
	Left, Top, Width, Height     int
	Text, Colour                 string // of a stat
	Lines                        []line
	Across, Down                 []tick
	PlotLeft, PlotTop, PlotRight int
	PlotBottom                   int
	Header                       []string
	Rows                         [][]string
	Bars                         []bar
}

type line struct{ Name, Colour, Points string }

type tick struct {
	At   int
	Text string
}

type bar struct {
	Name, Text string
	Width      int // of a hundred
}

// draw is the page of a dashboard.
func draw(t *testing.T, d dashboard, answers [][]series) []byte {
	t.Helper()
	page := struct {
		Title, From, To string
		Height          int
		Panels          []drawn
	}{Title: d.Title, From: morning.Add(-shown).Format("2006-01-02 15:04"), To: morning.Format("15:04")}
	for i, p := range d.Panels {
		at := p.GridPos
		panel := drawn{Title: p.Title, Type: p.Type, Left: at.X * column, Top: at.Y * row, Width: at.W*column - 8, Height: at.H*row - 8}
		switch p.Type {
		case "stat":
			panel.stat(p, answers[i])
		case "timeseries":
			panel.plot(p, answers[i])
		case "table":
			panel.table(answers[i])
		case "bargauge":
			panel.bars(p, answers[i])
		default:
			t.Errorf("panel %s: nothing draws a %s", p.Title, p.Type)
		}
		page.Panels, page.Height = append(page.Panels, panel), max(page.Height, panel.Top+panel.Height)
	}
	var out bytes.Buffer
	made, err := template.New("dashboard").Parse(readFile(t, dashboardTemplate))
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, made.Execute(&out, page))
	return out.Bytes()
}

// stat is the last value, in the colour of its threshold.
func (d *drawn) stat(p panel, all []series) {
	if len(all) == 0 {
		return
	}
	last := all[0].Values[len(all[0].Values)-1].value
	d.Text = withUnit(last, p.FieldConfig.Defaults.Unit)
	for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
		if step.Value == nil || last >= *step.Value {
			d.Colour = thresholdColours[step.Color]
		}
	}
}

func withUnit(value float64, unit string) string {
	if unit == "s" && value >= (7*24*time.Hour).Seconds() {
		return strconv.FormatFloat(value/(7*24*time.Hour).Seconds(), 'f', 2, 64) + " weeks"
	}
	return strings.TrimSpace(strconv.FormatFloat(math.Round(value*1000)/1000, 'f', -1, 64) + " " + unit)
}

// plot draws a line for each series, and its legend.
func (d *drawn) plot(p panel, all []series) {
	d.PlotLeft, d.PlotRight, d.PlotTop, d.PlotBottom = 52, d.Width-24, 38, d.Height-legendRoom-22
	highest := 0.0
	for _, s := range all {
		for _, v := range s.Values {
			highest = max(highest, v.value)
		}
	}
	step := niceStep(highest)
	top := math.Max(step, math.Ceil(highest/step)*step)
	y := func(value float64) float64 {
		return float64(d.PlotBottom) - value/top*float64(d.PlotBottom-d.PlotTop)
	}
	from := float64(morning.Add(-shown).Unix())
	x := func(at float64) float64 {
		return float64(d.PlotLeft) + (at-from)/shown.Seconds()*float64(d.PlotRight-d.PlotLeft)
	}
	for value := 0.0; value <= top*1.001; value += step {
		d.Across = append(d.Across, tick{int(y(value)), withUnit(value, p.FieldConfig.Defaults.Unit)})
	}
	for at := morning.Add(-shown); !at.After(morning); at = at.Add(time.Hour) {
		d.Down = append(d.Down, tick{int(x(float64(at.Unix()))), at.Format("15:04")})
	}
	for i, s := range sorted(p, all) {
		var points []string
		for _, v := range s.Values {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(v.at), y(v.value)))
		}
		d.Lines = append(d.Lines, line{legend(p, s), palette[i%len(palette)], strings.Join(points, " ")})
	}
}

// niceStep is 1, 2 or 5 times a power of ten, four or five of which make the axis.
func niceStep(highest float64) float64 {
	if highest <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest/4)))
	for _, times := range []float64{1, 2, 5} {
		if highest/(times*power) <= 5 {
			return times * power
		}
	}
	return 10 * power
}

// sorted puts large series first, by their last values.
func sorted(p panel, all []series) []series {
	last := func(s series) float64 {
		if len(s.Values) > 0 {
			return s.Values[len(s.Values)-1].value
		}
		return s.Value.value
	}
	return slices.SortedFunc(slices.Values(all), func(a, b series) int {
		return cmp.Or(-cmp.Compare(last(a), last(b)), cmp.Compare(legend(p, a), legend(p, b)))
	})
}

// legend fills in the legend of a panel.
func legend(p panel, s series) string {
	name := p.Targets[0].LegendFormat
	for label, value := range s.Metric {
		name = strings.ReplaceAll(name, "{{"+label+"}}", value)
	}
	return name
}

// table makes a column for each label.
func (d *drawn) table(all []series) {
	for _, s := range all {
		for label := range s.Metric {
			if !slices.Contains(d.Header, label) {
				d.Header = append(d.Header, label)
			}
		}
	}
	slices.Sort(d.Header)
	for _, s := range all {
		var cells []string
		for _, label := range d.Header {
			cells = append(cells, s.Metric[label])
		}
		d.Rows = append(d.Rows, append(cells, withUnit(s.Value.value, "")))
	}
	slices.SortFunc(d.Rows, slices.Compare)
	d.Header = append(d.Header, "Value")
}

// bars draws a bar for each series, the longest for the largest.
func (d *drawn) bars(p panel, all []series) {
	for i, s := range sorted(p, all) {
		width := 100
		if i > 0 {
			width = int(100 * s.Value.value / sorted(p, all)[0].Value.value)
		}
		d.Bars = append(d.Bars, bar{legend(p, s), withUnit(s.Value.value, p.FieldConfig.Defaults.Unit), width})
	}
}
