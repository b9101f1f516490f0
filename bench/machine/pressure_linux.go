package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// CPUPressure returns for how long, since the machine began, some thread has waited for a processor
// (Documentation/accounting/psi.rst); 0 where the kernel does not say.
func CPUPressure() (time.Duration, error) {
	b, err := os.ReadFile("/proc/pressure/cpu")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) { // the latter: it is turned off
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return parsePressure(string(b))
}

func parsePressure(text string) (time.Duration, error) {
	var us int64
	line, _, _ := strings.Cut(text, "\n")
	_, total, _ := strings.Cut(line, "total=")
	if _, err := fmt.Sscan(total, &us); err != nil || !strings.HasPrefix(line, "some ") {
		return 0, fmt.Errorf("/proc/pressure/cpu begins with %q, which is no line as proc(5) has it", line)
	}
	return time.Duration(us) * time.Microsecond, nil
}
