// Package docs tests the documentation. Its tests run every command that a page shows, on a control plane with Fairlead
// where the page needs one. They compare the output that pages show, follow every link, and look up every command,
// version and name. e2e/README.md says how a page marks commands that are not run, and output that varies.
package docs
