package across

import "evenkeel.dev/reqtrace"

// Compare says how calls joined by connections agree with those joined by ids.
func Compare(requests [][]reqtrace.Request) Compared {
	c, _ := compareJoins(requests)
	return c
}
