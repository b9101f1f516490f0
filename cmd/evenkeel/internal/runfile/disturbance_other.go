//go:build !linux

package runfile

func usageOf(Watched) usage { return usage{} }

func names(map[int]processUsage) string { return "" }
