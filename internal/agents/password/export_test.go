package password

// Patterns are the patterns of InValue.
func Patterns() []string { return []string{inValue.String(), elsewhere.String()} }
