// Package docs holds the documentation to its word. Its tests run every command that a page shows, on a control plane
// with Fairlead where the page needs one, compare what pages show of the output, follow every link, and look up every command,
// version and name. How a page says what is not run, and what varies, is in e2e/README.md.
package docs
