// Command get asks the server at $URL, as any Go program does that is not told whom to trust.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Getenv("URL"))
	if err != nil {
		log.Fatal(err)
	}
	_ = response.Body.Close()
}
