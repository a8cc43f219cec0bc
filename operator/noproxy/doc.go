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
// The package is pure. It imports neither a Kubernetes library nor anything
// that reads a clock, a file or the network; a test at the root of the module
// enforces that.
package noproxy
