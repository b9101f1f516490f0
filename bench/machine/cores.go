package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// CoreList names cores for taskset(1): these of those that may be used, counted from 0, by the system's numbers.
func CoreList(cores ...int) (string, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	_, list, _ := strings.Cut(string(b), "\nCpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	may, err := parseCores(strings.TrimSpace(list))
	if err != nil {
		return "", err
	}
	var names []string
	for _, core := range cores {
		if core >= len(may) {
			return "", errors.New("server and client need a core each: run it where two may be used")
		}
		names = append(names, strconv.Itoa(may[core]))
	}
	return strings.Join(names, ","), nil
}

// parseCores parses a list such as 0-2,7.
func parseCores(list string) (cores []int, err error) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, between := strings.Cut(part, "-")
		if !between {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("/proc/self/status has Cpus_allowed_list %q, which is no list as cpuset(7) has it: %w", list, err)
		}
		for core := from; core <= to; core++ {
			cores = append(cores, core)
		}
	}
	return cores, nil
}
