//go:build race

package testutil

// RaceFlag makes go build use the race detector if this program does.
const RaceFlag = "-race=true"
