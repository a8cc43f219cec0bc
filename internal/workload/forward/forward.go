// Package forward is an HTTP forward proxy in front of the company's: it adds the credentials that its clients need not
// have, and reads the settings again for each request.
package forward

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/pipe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// maxIdle is how many connections to destinations may wait for a next request: one client can ask as many as there are.
const maxIdle = 256

// Options are the settings of a proxy.
type Options struct {
	Folder *upstream.Folder
	Policy egress.Policy
	Log    *slog.Logger
	// Name stands in Via (RFC 9110, section 7.6.3), unlike that of any other: a request that has it has been here.
	Name string
	// Exists reports whether a name of a Service resolves. Nil: nobody knows of Services here.
	Exists func(ctx context.Context, name string) bool
	// Direct has it dial itself what NO_PROXY covers, and everything while there is no proxy, as its client would: it is beside
	// one, in the same network.
	Direct bool
	// Observe is told of each request how it ended, for metrics: the decision (proxy, direct or refused), and ok, the reason of a
	// refusal, or what failed. Nil: nobody is told.
	Observe func(decision, result string)
	// Access has a line for each request that goes somewhere, when it has ended. Nil: none.
	Access *slog.Logger
}

// Proxy answers requests. It is the handler of a server.
type Proxy struct {
	Options

	policy  atomic.Pointer[egress.Policy] // as it is now
	dialer  *upstream.Dialer
	plain   httputil.ReverseProxy
	direct  http.RoundTripper
	mutex   sync.Mutex
	current *upstream.Transport
	of      *upstream.Settings // of the current transport

	watch       time.Duration // between two looks whether a client is still there
	connections connections
	underway    underway
	lines       lines
}

// New returns a proxy that is ready to serve.
func New(options Options) *Proxy {
	if options.Observe == nil {
		options.Observe = func(string, string) {}
	}
	if options.Access == nil {
		options.Access = slog.New(slog.DiscardHandler)
	}
	proxy := &Proxy{Options: options, watch: watchInterval}
	proxy.SetPolicy(options.Policy)
	proxy.dialer = upstream.NewDialer(upstream.TCP{Hosts: upstream.Hosts.Addresses}.Dial)
	proxy.direct = headers.NewTransport(&http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			ctx, cancel := upstream.ConnectTimeout.Bound(ctx)
			defer cancel()
			return proxy.dialDirectly(ctx, address)
		},
		DisableCompression: true, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		ExpectContinueTimeout: upstream.ContinueTimeout,
	})
	proxy.plain = httputil.ReverseProxy{
		Rewrite: proxy.rewrite, Transport: transport(proxy.roundTrip), ErrorHandler: proxy.notCarried,
		FlushInterval: -1, BufferPool: &buffers{}, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return proxy
}

// SetPolicy has requests from now on decided by another policy.
func (p *Proxy) SetPolicy(policy egress.Policy) {
	policy.Direct.Listed = p.Direct
	p.policy.Store(&policy)
}

// rewrite leaves a request as it is but for Via, and what was said to this proxy. A ReverseProxy removes more: it is made for
// what stands before servers. The header that came is not needed any more, and may have to wait for long.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := r.In.Header.Values(name); len(values) > 0 {
			r.Out.Header[name] = values
		}
	}
	if r.In.Context().Value(key{}).(carried).upgrades == nil {
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Del("Http2-Settings")
	r.Out.Header.Set("Via", p.via(r.In))
	r.Out.Trailer = r.In.Trailer // which the server fills when the body has been read
	r.In.Header = nil
}

// buffers are shared for copying bodies. Else each response would have one of its own.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 8<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// ServeHTTP decides about a request and carries it.
func (p *Proxy) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	line := asked(r)
	defer p.tellPanic(line)
	client, _ := r.Context().Value(connKey{}).(net.Conn)
	sent := bodyOf(to, r)
	defer sent.end(client)
	w := writerOf(to, r, sent)
	settings, err := p.Folder.Read()
	if err != nil {
		p.failed(w, r, line, err)
		return
	}
	defer p.underway.begin(settings)()
	decision, refusal := p.decide(r, settings)
	if refusal != nil {
		p.failed(w, r, line, refusal)
		return
	}
	is := carried{settings: settings, decision: decision, line: line.decided(decision), via: p.via(r), body: sent}
	if asksForUpgrade(r) {
		is.upgrades = w
	}
	ctx, cancel := context.WithCancel(context.WithValue(askedBy(r), key{}, is))
	defer cancel()
	in := r.WithContext(ctx)
	r.Header = nil // the server's own request lives as long as the answer
	if r.Method == http.MethodConnect {
		p.connect(w, r, is)
		return
	}
	if client != nil {
		defer p.connections.removeHijacked(client)
	}
	if is.upgrades == nil { // what it is upgraded to may end its sides one by one
		defer watch(client, p.watch, cancel)()
	}
	p.plain.ServeHTTP(w, in)
}

type key struct{}

// carried is a request that was let through. A tunnel needs no more of its header.
type carried struct {
	settings *upstream.Settings
	decision egress.Decision
	line     access
	via      string
	body     *body               // nil: there is none
	upgrades http.ResponseWriter // of a request that may be upgraded; else nil
}

func (p *Proxy) decide(r *http.Request, settings *upstream.Settings) (egress.Decision, *egress.Refusal) {
	policy := p.policy.Load()
	client, _ := netip.ParseAddrPort(r.RemoteAddr) // what has no address is in no network
	if refusal := policy.CheckSource(client.Addr()); refusal != nil {
		return egress.Decision{}, refusal
	}
	if via := strings.Join(r.Header.Values("Via"), ","); strings.Contains(via, p.Name) || strings.Count(via, pseudonym) > maxRelays {
		return egress.Decision{}, &egress.Refusal{Reason: egress.Itself, Text: "the request has been here before: the proxy of this relay leads back to it"}
	}
	if headers.TooMany(r.Header) {
		return egress.Decision{}, &egress.Refusal{Reason: egress.BadRequest, Text: headers.ErrTooMany.Error()}
	}
	destination, refusal := destinationOf(r)
	if refusal != nil {
		return egress.Decision{}, refusal
	}
	request := egress.Request{Destination: destination, Namespace: namespaceOf(r), Listed: policy.MayBeDirect() && settings.Bypasses(schemeOf(r), destination.String())}
	if service := policy.Service(destination, request.Namespace); service != "" && policy.Domain != "" && p.Exists != nil {
		request.Service = p.Exists(r.Context(), service)
	}
	decision, refusal := policy.Decide(request)
	if refusal == nil && p.Direct {
		decision.Direct = decision.Direct || settings.Proxy(schemeOf(r)).URL.IsZero()
	}
	return decision, refusal
}

// connect opens a tunnel and carries it until it ends.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, is carried) {
	far, err := p.open(askedBy(r), is)
	if err != nil {
		p.failed(w, r, is.line, err)
		return
	}
	near, early, err := hijack(w)
	if err != nil {
		_ = far.Close()
		return
	}
	if _, err := near.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_, _ = near.Close(), far.Close()
		p.connections.remove(near)
		return
	}
	p.Observe(wayOf(is.decision), "ok")
	release := p.dialer.Hold(far)
	go func() { // the server's own goroutine has large buffers, and its context would hold the request
		defer p.connections.remove(near)
		defer release()
		p.carry(is, http.StatusOK, near, early, pipe.End{Conn: far.Conn, Early: far.Early})
	}()
}

// carry carries a tunnel, or another protocol, to its end.
func (p *Proxy) carry(is carried, status int, near net.Conn, early []byte, far pipe.End) {
	client := pipe.End{Conn: headers.Under(near).(upstream.Conn), Early: early}
	traffic := pipe.Both(context.Background(), client, far, pipe.Linger)
	p.log(is.line, status, traffic.FromFirst, traffic.FromSecond)
}

func (p *Proxy) open(ctx context.Context, is carried) (upstream.Tunnel, error) {
	ctx, cancel := upstream.ConnectTimeout.Bound(ctx)
	defer cancel()
	if is.decision.Direct {
		conn, err := p.dialDirectly(ctx, is.decision.Dial)
		return upstream.Tunnel{Conn: conn}, err
	}
	if is.settings.HTTPS.URL.IsZero() {
		return upstream.Tunnel{}, errNoProxy
	}
	return p.dialer.Open(ctx, is.settings.HTTPS, is.settings.Authorities, is.decision.Dial, is.via)
}

var errNoProxy = errors.New("no proxy is set for this scheme")

// roundTrip sends a request for an http URL as it was decided.
func (p *Proxy) roundTrip(r *http.Request) (*http.Response, error) {
	is := r.Context().Value(key{}).(carried)
	response, err := p.upgrade(r, is)
	if err == nil {
		p.Observe(wayOf(is.decision), "ok")
		p.counted(response, is)
	}
	return response, err
}

func (p *Proxy) send(r *http.Request, is carried) (*http.Response, error) {
	r.Close = r.Close || upstream.BindsConnection(r.Header)
	switch {
	case is.decision.Direct:
		r.URL.Host = is.decision.Dial
		return p.direct.RoundTrip(r)
	case is.settings.HTTP.URL.IsZero():
		return nil, errNoProxy
	}
	r.Host = strings.TrimSuffix(is.decision.Dial, ":80") // what was decided about, and no other spelling
	return p.transport(is.settings).RoundTrip(r)
}

// transport returns the one for these settings. Connections with previous ones are not used any more.
func (p *Proxy) transport(settings *upstream.Settings) *upstream.Transport {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.of != settings {
		if p.current != nil {
			p.current.Close()
		}
		p.of, p.current = settings, p.dialer.NewTransport(settings.HTTP, settings.Authorities, upstream.ConnectTimeout)
	}
	return p.current
}

// dialDirectly connects to a destination. Each address is checked right before the connection to it: a name may resolve to
// another one the next time.
func (p *Proxy) dialDirectly(ctx context.Context, address string) (upstream.Conn, error) {
	way := upstream.TCP{Check: func(_ string, at netip.AddrPort) error {
		if refusal := egress.CheckAddress(at.Addr(), p.policy.Load().Denied); refusal != nil {
			return refusal
		}
		return nil
	}}
	if p.Direct {
		way.Hosts = upstream.Hosts.Addresses
	}
	return way.Dial(ctx, address)
}

func wayOf(decision egress.Decision) string {
	if decision.Direct {
		return "direct"
	}
	return "proxy"
}
