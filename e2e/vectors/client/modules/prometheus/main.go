// Command prometheus asks for a URL as Prometheus does with
// proxy_from_environment.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/common/config"
	_ "golang.org/x/net/http/httpproxy" // which decides: the client's version is its
)

const patience = 8 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := ask(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, target string) error {
	client, err := config.NewClientFromConfig(config.HTTPClientConfig{
		ProxyConfig: config.ProxyConfig{ProxyFromEnvironment: true}, TLSConfig: config.TLSConfig{InsecureSkipVerify: true},
	}, "vectors")
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
