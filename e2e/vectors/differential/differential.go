package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/vectors/measure"
	"github.com/fairlead-io/fairlead/e2e/vectors/session"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

// Clients are those that are asked generated questions.
var Clients = []string{
	"aws-sdk-go", "azure-sdk-for-go", "google-cloud-go", "containerd-resolver", "otlp-http", "x-net-httpproxy(0.57.0)", "x-net-httpproxy(0.58.0)", "x-net-httpproxy(0.62.0)",
	"curl", "wget", "python-urllib", "ruby-net-http",
	"grpc-go(1.62.2)", "grpc-go(1.63.2)", "grpc-go(1.70.0)", "grpc-go(1.71.0)", "grpc-go(1.83.2)",
	"client-go-rest", "client-go-spdy", "client-go-websocket", "python-kubernetes",
}

// Disagreement is a question that a client and its dialect answer differently.
type Disagreement struct {
	Question  table.Row // with the client's answer, as short as it can be
	Dialect   string    // the other answer
	Generated table.Row // what it was cut down from
}

// String is for people.
func (d Disagreement) String() string {
	return fmt.Sprintf("%s %s: %s: %s, but its dialect says %s (made shorter; it was %s)",
		d.Question.Client, d.Question.Version, d.Question, d.Question.Answer(), d.Dialect, d.Generated)
}

// enough disagreements end a comparison: they tend to have one cause.
const enough = 5

// Result is what a comparison has found.
type Result struct {
	Cases, Direct int // asked, and answered by going direct
	Disagreements []Disagreement
}

// Compare asks generated questions; step is called after each.
func Compare(s *session.Session, seed uint64, cases int, step func()) (Result, error) {
	var result Result
	random := rand.New(rand.NewPCG(seed, seed))
	for result.Cases < cases && len(result.Disagreements) < enough {
		generated := Generate(random)
		found, err := disagree(s, generated)
		if err != nil {
			return result, err
		}
		result.Cases++
		if found.Question.Answer() == "direct" {
			result.Direct++
		}
		if found.Dialect != "" {
			if found, err = shorten(s, found); err != nil {
				return result, err
			}
			result.Disagreements = append(result.Disagreements, found)
		}
		step()
	}
	return result, nil
}

// disagree asks one question. Dialect is empty if both agree.
func disagree(s *session.Session, question table.Row) (Disagreement, error) {
	answered, err := measure.Ask(s, question)
	if err != nil {
		return Disagreement{}, err
	}
	row, err := answered.Vector()
	if err != nil {
		return Disagreement{}, err
	}
	got, _, err := row.Got()
	if err != nil {
		return Disagreement{}, err
	}
	found := Disagreement{Question: answered, Generated: question}
	if got != answered.Answer() {
		found.Dialect = got
	}
	return found, nil
}

// shorten drops elements of the list, then characters, as long as the two disagree.
func shorten(s *session.Session, found Disagreement) (Disagreement, error) {
	for _, separator := range []string{",", ""} {
		for i := 0; ; {
			parts := strings.Split(list(found.Question), separator)
			if i >= len(parts) || len(parts) == 1 && separator != "" {
				break
			}
			without := strings.Join(append(parts[:i:i], parts[i+1:]...), separator)
			shorter, err := disagree(s, question(without, found.Question.URL))
			if err != nil {
				return found, err
			}
			if shorter.Dialect == "" {
				i++
				continue
			}
			shorter.Generated = found.Generated
			found = shorter
		}
	}
	return found, nil
}

func list(row table.Row) string {
	var text string
	_ = json.Unmarshal(row.NoProxy, &text)
	return text
}
