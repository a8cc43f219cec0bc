package pods

// For tests that hold the command's own words against the policies.
var (
	NotExcluded = notExcluded
	Decode      = decode
)
