// Package noproxy is the algebra of NO_PROXY: it reads what people write,
// says what each entry means, and merges lists without forgetting where an
// entry came from.
//
// An entry is an intent, not a string. What is understood on input, and how
// it is written again:
//
//	written            means                                  written again
//	example.com        the name and every name below it       example.com
//	.example.com       every name below it                    .example.com
//	*.example.com      every name below it                    .example.com
//	example.com.       the same, spelled with the final dot   example.com.
//	bücher.example     its A-label (RFC 5891)                 xn--bcher-kva.example
//	10.1.2.3           the address                            10.1.2.3
//	10.1.2.3/8         the network, host bits cleared         10.0.0.0/8
//	10.1.2.3/32        the address                            10.1.2.3
//	::1, [::1]         the address (RFC 5952)                 ::1
//	example.com:8080   only at this port                      example.com:8080
//	[::1]:8080         only at this port                      [::1]:8080
//	*                  everything                             *
//
// Everything else is refused, and a [Refusal] names the reason: a silent
// "does not match anything" is how NO_PROXY lists rot. The reading follows
// golang.org/x/net/http/httpproxy where clients disagree.
//
// A merged list is written in one of two forms. Exact writes the entries in
// their order. Portable writes what clients agree upon, sorted, for one of
// two audiences: go, where Go programs alone read it, and any:
//
//	meant                   written                any also
//	d and all below it      d,.d
//	all below d             .d
//	the host h alone        h
//	services: svc, domain   .svc,.svc.             no bare svc or cluster.local, unless somebody lists it
//	an IPv4 address         10.1.2.3
//	an IPv6 address         fd00::1                bare; with a port omitted, as it needs brackets
//	an IPv4 network         10.0.0.0/8             from /28 on, each address beside it
//	an IPv6 network         fd00::/64              omitted unless the cluster has IPv6 networks itself; with [V3] in any case
//	a service network       10.96.0.0/12,10.96.0.1,10.96.0.10
//	a network around 169.254.169.254 or fd00:ec2::254: that address beside it
//	anything at a port      d:8080,.d:8080
//	everything              *
//
// Where that comes to more than [Budget], ".d" is not added beside "d", nor
// the addresses of small networks; [V2], as many as there is room for.
//
// An address is never merged into a network that contains it, nor ".d" into
// "d": for some client only the one of them works. What clients still disagree
// about is not hidden; package lint names it, and them.
//
// The package is pure. It imports neither a Kubernetes library nor anything
// that reads a clock, a file or the network; a test at the root of the module
// enforces that.
package noproxy
