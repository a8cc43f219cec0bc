package differential

import (
	"fmt"
	"math/rand/v2"

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
	Question table.Row // with the client's answer
	Dialect  string    // the other answer
}

// String is for people.
func (d Disagreement) String() string {
	return fmt.Sprintf("%s %s: %s: %s, but its dialect says %s",
		d.Question.Client, d.Question.Version, d.Question, d.Question.Answer(), d.Dialect)
}

// enough disagreements end a comparison: they tend to have one cause.
const enough = 5

// Result has the counts of a comparison, and the disagreements.
type Result struct {
	Cases, Direct int // asked, and answered by going direct
	Disagreements []Disagreement
}

// Compare asks generated questions.
func Compare(s *session.Session, seed uint64, cases int) (Result, error) {
	var result Result
	random := rand.New(rand.NewPCG(seed, seed))
	for result.Cases < cases && len(result.Disagreements) < enough {
		answered, says, _, err := measure.Compare(s, Generate(random))
		if err != nil {
			return result, err
		}
		result.Cases++
		if answered.Answer() == "direct" {
			result.Direct++
		}
		if says != answered.Answer() {
			result.Disagreements = append(result.Disagreements, Disagreement{answered, says})
		}
	}
	return result, nil
}
