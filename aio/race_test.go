//go:build race

package aio_test

const raceDetector = true
