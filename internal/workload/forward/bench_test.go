package forward

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// BenchmarkConnect opens a tunnel, exchanges a line and closes it. The company's proxy is next to nothing.
func BenchmarkConnect(b *testing.B) {
	company := accepting(b, func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		if _, err := http.ReadRequest(reader); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = io.Copy(conn, reader)
	})
	folder := b.TempDir()
	file := filepath.Join(folder, upstream.SettingsFile)
	if err := os.WriteFile(file, fmt.Appendf(nil, "HTTPS_PROXY=http://u:p@%s\nNO_PROXY=\n", company), 0o600); err != nil {
		b.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	_ = os.Chtimes(file, past, past)
	proxy := New(Options{Folder: upstream.NewFolder(folder, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler), Name: "bench"})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = proxy.Serve(b.Context(), []net.Listener{listener}, Limits{Connections: 1 << 20, PerSource: 1 << 20, Header: time.Minute}, Drain{})
	}()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			fmt.Fprint(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
			reader := bufio.NewReader(conn)
			if _, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect}); err != nil {
				b.Error(err)
				return
			}
			fmt.Fprint(conn, "hello\n")
			if line, err := reader.ReadString('\n'); line != "hello\n" {
				b.Error(line, err)
				return
			}
			_ = conn.Close()
		}
	})
}
