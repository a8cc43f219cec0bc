package lint

import "strconv"

func uitoa(port uint16) string { return strconv.Itoa(int(port)) }

func otherPort(port uint16) uint16 {
	if port == 8081 {
		return 8082
	}
	return 8081
}
