package session

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/vectors/client"
	"github.com/fairlead-io/fairlead/e2e/vectors/lab"
)

const insideMode = "lab"

// Main makes a program what Open and the Go client start it as. Every program
// that calls Open calls it first; it returns if it was started by a person.
func Main() {
	switch os.Getenv("FAIRLEAD_VECTORS") {
	case insideMode:
		inside()
		os.Exit(0)
	case client.GoMode:
		client.GoMain()
		os.Exit(0)
	}
}

// inside is the process of a lab. As the first of its process namespace it takes
// everything with it when it ends, which it does when nobody asks any more.
func inside() {
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var h hello
	if questions.Decode(&h) != nil {
		return
	}
	network, runner, err := prepare(h)
	if err != nil {
		_ = answers.Encode(ready{Error: err.Error()})
		return
	}
	_ = answers.Encode(ready{Version: runner.Version()})
	asked := make(chan Question)
	go func() {
		for {
			var question Question
			if questions.Decode(&question) != nil {
				os.Exit(0) // even in the middle of a question
			}
			asked <- question
		}
	}()
	for question := range asked {
		answer, err := ask(network, runner, question)
		if err != nil {
			answer.Error = err.Error()
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}

func prepare(h hello) (*lab.Lab, client.Runner, error) {
	c, err := client.Find(h.Client)
	if err != nil {
		return nil, nil, err
	}
	network, err := lab.Start(h.Dir)
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	runner, err := c.Start(client.Machine{Dir: h.Dir, Cache: h.Cache, Self: self})
	return network, runner, err
}

func ask(network *lab.Lab, runner client.Runner, question Question) (answer Answer, err error) {
	if err := network.Expect(question.URL); err != nil {
		return answer, err
	}
	for name, value := range question.Env {
		if strings.HasSuffix(strings.ToLower(name), "_proxy") && !strings.EqualFold(name, "no_proxy") {
			if err := network.Expect(value); err != nil {
				return answer, err
			}
		}
	}
	if answer.Problem, err = runner.Ask(question.Env, question.URL); err != nil {
		return answer, err
	}
	answer.Contacts, err = network.Contacts()
	return answer, err
}
