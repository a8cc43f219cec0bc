package pods

// PasswordPatterns are those of hasPassword.
func PasswordPatterns() []string {
	return []string{passwordPattern.String(), referencePattern.String()}
}
