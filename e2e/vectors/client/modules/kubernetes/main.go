// Command kubernetes asks for a URL with client-go: "rest" as clients of the
// API do, "spdy" and "websocket" as kubectl exec does.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

const patience = 8 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := ask(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, how, text string) error {
	target, err := url.Parse(text)
	if err != nil {
		return err
	}
	config := &rest.Config{Host: target.Scheme + "://" + target.Host, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	var executor remotecommand.Executor
	switch how {
	case "spdy":
		executor, err = remotecommand.NewSPDYExecutor(config, http.MethodPost, target)
	case "websocket":
		executor, err = remotecommand.NewWebSocketExecutor(config, http.MethodGet, text)
	default:
		return get(ctx, config, text)
	}
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: os.Stderr})
}

func get(ctx context.Context, config *rest.Config, text string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, text, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
