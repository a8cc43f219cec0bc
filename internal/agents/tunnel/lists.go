package tunnel

// AsksOneServer tells whether a container is the agent of a tunnel that asks nobody but its server through a proxy, so that it
// needs no NO_PROXY list: what comes by the tunnel it dials itself. Other agents also ask the API server.
func AsksOneServer(c Container) bool {
	p := recognize(c, commandLine(c, readEnvironment(c, Objects{})), nil)
	return p != nil && (p.grpc || p.way != byEnvironment)
}
