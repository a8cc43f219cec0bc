package tunnel

import (
	"cmp"
	"path"
	"regexp"
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
	a, b := versionTag.FindStringSubmatch(version), versionTag.FindStringSubmatch(limit)
	for i := 1; i <= 3; i++ {
		x, _ := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		if order := cmp.Compare(x, y); order != 0 {
			return order < 0
		}
	}
	return false
}
