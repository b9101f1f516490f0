//go:build !unix

package load

// descriptorLimit returns false: there is no such limit, or it is not known.
func descriptorLimit() (n int, known bool) { return 0, false }
