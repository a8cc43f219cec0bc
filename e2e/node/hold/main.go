// Command hold asks a proxy for a tunnel, says what it is told, and waits until the tunnel ends.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
)

func main() {
	if err := hold(os.Getenv("HTTPS_PROXY"), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "hold:", err)
		os.Exit(1)
	}
}

func hold(proxy, target string) error {
	at, err := url.Parse(proxy)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the program ends
	password, _ := at.User.Password()
	request := http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	request.SetBasicAuth(at.User.Username(), password)
	request.Header.Set("Proxy-Authorization", request.Header.Get("Authorization"))
	request.Header.Del("Authorization")
	if err := request.Write(conn); err != nil {
		return err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Println(response.StatusCode)
	_, err = io.Copy(os.Stdout, reader)
	fmt.Println("the tunnel has ended")
	return err
}
