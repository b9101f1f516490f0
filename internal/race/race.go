// Package race says whether this program is built with the race detector, for tests that build
// others: built as they are themselves, those find the standard library and all else compiled.
// Tests alone import it.
package race
