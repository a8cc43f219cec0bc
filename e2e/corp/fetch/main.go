// Command fetch prints the content at a URL, as a Go program gets it: with the defaults of
// net/http.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := fetch(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

func fetch(url string) error {
	client := http.Client{Timeout: 20 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", response.Status)
	}
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
