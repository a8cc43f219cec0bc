package password

// Patterns are those of InValue.
func Patterns() []string { return []string{inValue.String(), elsewhere.String()} }
