package proxysecret

import "strings"

// ListName is the variable that has the Secret's NO_PROXY where a list of the pod or the container extends it. No program reads it.
const ListName = "FAIRLEAD_NO_PROXY"

// RefersToList reports whether kubelet puts that list into a value. It expands $(NAME), and leaves $$(NAME) as $(NAME)
// (k8s.io/kubernetes, third_party/forked/golang/expansion).
func RefersToList(value string) bool {
	return strings.Contains(strings.ReplaceAll(value, "$$", ""), "$("+ListName+")")
}
