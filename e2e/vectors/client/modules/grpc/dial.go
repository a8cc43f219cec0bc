//go:build dial

package main

import "google.golang.org/grpc"

// newClient is the function that programs called before 1.63.
func newClient(target string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.Dial(target, options...)
}
