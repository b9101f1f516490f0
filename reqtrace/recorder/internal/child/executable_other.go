//go:build !linux

package child

import (
	"errors"
	"os"
)

// begun is the executable as it was when this process began: another may have its path by now.
var begun = func() os.FileInfo {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}()

// Executable is the file that this process runs, as long as its path leads to that.
func Executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if begun == nil || !os.SameFile(begun, info) || begun.Size() != info.Size() || !begun.ModTime().Equal(info.ModTime()) {
		return "", errors.New("the executable is not the one that this process was started from: start the service again")
	}
	return path, nil
}
