package dialect_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Which clients go direct to an address in a listed network?
func ExampleClients() {
	environment := dialect.Uniform("http://proxy.example:3128", "http://proxy.example:3128", "10.0.0.0/8", "")
	target, err := dialect.ParseTarget("https://10.1.2.3")
	if err != nil {
		panic(err)
	}
	for _, client := range dialect.Clients() {
		if client.Name != "go" && client.Name != "wget" {
			continue
		}
		decision := client.Newest().Read(environment)(target)
		fmt.Println(client.Name, decision.Route, decision.Reason)
	}
	// Output:
	// go direct an address in this network
	// wget proxy no entry matches
}

// A client as of a version.
func ExampleClient_At() {
	curl, err := dialect.Find("curl")
	if err != nil {
		panic(err)
	}
	environment := dialect.Uniform("", "http://proxy.example:3128", "10.0.0.0/8", "")
	target, _ := dialect.ParseTarget("https://10.1.2.3")
	for _, version := range []string{"7.74.0", "8.5.0"} {
		fmt.Println(version, curl.At(version).Read(environment)(target).Route)
	}
	// Output:
	// 7.74.0 proxy
	// 8.5.0 direct
}
