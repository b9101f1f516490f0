//go:build !linux

package runfile

// usageOf returns nothing: not known here.
func usageOf(Watched) usage { return usage{} }

func names(map[int]processUsage) string { return "" }
