package machine

import "github.com/fairlead-io/fairlead/e2e/authority"

// Authority issues the certificates of squid and of web servers.
type Authority = authority.Authority

// NewAuthority makes one.
var NewAuthority = authority.New
