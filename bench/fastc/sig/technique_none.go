//go:build cgo && !(linux && amd64)

package sig

var techniques [5]func(n int) float64

func CrashByTechnique() {}
