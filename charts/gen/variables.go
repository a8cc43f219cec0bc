package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

// variableList is a list of variables in CEL, which cannot import the names.
var variableList = regexp.MustCompile(`\['HTTP_PROXY'[^\]]*\]`)

// renewVariables writes the lists of a file as package proxyenv has them. What a list is of, its members tell.
func renewVariables(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, variableList.ReplaceAllFunc(text, func(written []byte) []byte {
		names := strings.Split(strings.Trim(string(written), "[']"), "', '")
		all := names
		if slices.Contains(names, proxyenv.LowerHTTP) {
			all = proxyenv.Names
		} else if slices.Contains(names, proxyenv.All) {
			all = proxyenv.Groups
		}
		if all = slices.Clone(all); !slices.Contains(names, proxyenv.NoProxy) {
			all = slices.DeleteFunc(all, proxyenv.IsList)
		}
		if slices.Contains(names, "ca.crt") {
			all = append(all, "ca.crt")
		}
		return []byte("['" + strings.Join(all, "', '") + "']")
	}), 0o600)
}
