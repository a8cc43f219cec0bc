// Package provider_test holds internal/core/provider/providers.yaml against the CustomResourceDefinitions that
// the infrastructure providers ship: a field that a release renames or drops is found here and not by a
// cluster whose list lacks its network. It has tests alone. It reads the table as text and walks its
// paths by itself: an error in the package's own reading of paths would otherwise agree with itself.
//
// Run it with -count=1: the go command's cache of test results does not see files of another module.
package provider_test
