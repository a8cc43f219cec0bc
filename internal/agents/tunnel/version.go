package tunnel

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var versionTag = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.].*)?$`)

// ImageTag is the last part of the path of the container's image, and its tag.
func (c Container) ImageTag() (name, tag string) {
	image, _, _ := strings.Cut(c.Image, "@")
	name, tag, _ = strings.Cut(path.Base(image), ":")
	return name, tag
}

// version is that of the agent, where the image's tag is it.
func (j *judge) version() string {
	name, tag := j.container.ImageTag()
	if name != j.program.image || !versionTag.MatchString(tag) {
		return ""
	}
	return tag
}

// before compares versions.
func before(version, limit string) bool {
	numbers := func(text string) (all [3]int) {
		for i, part := range versionTag.FindStringSubmatch(text)[1:] {
			all[i], _ = strconv.Atoi(part)
		}
		return all
	}
	a, b := numbers(version), numbers(limit)
	return slices.Compare(a[:], b[:]) < 0
}
