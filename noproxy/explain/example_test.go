package explain_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

func ExampleEvaluate() {
	target, err := dialect.ParseTarget("https://api.corp.example")
	if err != nil {
		panic(err)
	}
	clients, err := explain.Choose([]string{"go", "curl"})
	if err != nil {
		panic(err)
	}
	given := explain.Configuration{HTTPS: "http://proxy.example:3128", List: explain.Written("localhost,.corp.example", "NO_PROXY")}
	for _, explanation := range explain.Evaluate(given, clients, []dialect.Target{target}) {
		fmt.Println(explanation.Summary)
		for _, answer := range explanation.Decisions {
			fmt.Println(answer.Name(), answer.Decision, answer.Source.Field, answer.Reason)
		}
	}
	// Output:
	// go and curl go direct because of .corp.example
	// go direct NO_PROXY[1] a name below it
	// curl direct NO_PROXY[1] a name below it
}
