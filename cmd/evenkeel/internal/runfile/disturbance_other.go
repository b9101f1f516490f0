//go:build !linux

package runfile

func usageOf(Watched) usage { return usage{} }
