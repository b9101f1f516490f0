//go:build !race || !unix

package httpd

func raceAcquire() {}
func raceRelease() {}
