// Command grpc dials the host of a URL with gRPC for Go, over TLS if the URL
// is https, and ends when the connection is there or has failed.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const patience = 8 * time.Second

func main() {
	if err := dial(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func dial(text string) error {
	target, err := url.Parse(text)
	if err != nil {
		return err
	}
	secure := insecure.NewCredentials()
	port := "80"
	if target.Scheme == "https" {
		secure, port = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}), "443"
	}
	if target.Port() != "" {
		port = target.Port()
	}
	conn, err := newClient(net.JoinHostPort(target.Hostname(), port), grpc.WithTransportCredentials(secure))
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.Connect()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for state := conn.GetState(); ; state = conn.GetState() {
		switch {
		case state == connectivity.Ready:
			return nil
		case state == connectivity.TransientFailure:
			return fmt.Errorf("%s", state)
		case !conn.WaitForStateChange(ctx, state):
			return ctx.Err()
		}
	}
}
