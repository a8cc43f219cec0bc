package password

// Patterns returns the patterns of InValue.
func Patterns() []string { return []string{inValue.String(), elsewhere.String()} }
