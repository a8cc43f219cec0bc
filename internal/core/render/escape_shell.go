package render

import "strings"

// shellExport returns a command that exports a variable. Between single quotes
// every byte stands for itself, and only a single quote cannot be there (POSIX.1,
// Shell Command Language, 2.2.2). No environment holds a NUL byte.
func shellExport(name, value string) (string, error) {
	if strings.ContainsRune(value, 0) {
		return "", notCarriable("%s contains a NUL byte, which no environment can carry", name)
	}
	return "export " + name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'", nil
}
