package tunnel

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var versionTag = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.].*)?$`)

// imageTag is what stands behind the colon of an image.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// version is that of the agent, where the image's tag is it.
func (j *judge) version() string {
	tag := imageTag(j.container.Image)
	if !slices.Contains(j.program.images, imageName(j.container.Image)) || !versionTag.MatchString(tag) {
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
