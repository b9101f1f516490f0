//go:build race

package race

// Flag has go build build as this program was.
const Flag = "-race=true"
