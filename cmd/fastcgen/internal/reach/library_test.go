package reach

import (
	"strings"
	"testing"
)

// TestArMembers: an archive that is cut off is refused, not read beyond its end.
func TestArMembers(t *testing.T) {
	header := func(name, size string) string {
		pad := func(s string, n int) string { return s + strings.Repeat(" ", n-len(s)) }
		return pad(name, 48) + pad(size, 10) + "`\n"
	}
	whole := "!<arch>\n" + header("/", "2") + "ab" + header("//", "20") + "a_long_name.o/\nxxxx\n" + header("/0", "3") + "abc\n" + header("b.o/", "1") + "x"
	members, err := arMembers([]byte(whole))
	if err != nil || len(members) != 2 || members[0].name != "a_long_name.o" || string(members[0].data) != "abc" || members[1].name != "b.o" {
		t.Errorf("%q, %v", members, err)
	}
	for _, data := range []string{"", "!<thin>\n", "!<arch>\n" + header("a.o/", "10") + "abc", "!<arch>\n" + header("a.o/", "-1"), "!<arch>\n" + header("a.o/", "1e3")} {
		if _, err := arMembers([]byte(data)); err == nil {
			t.Errorf("%q is taken", data)
		}
	}
	for i := range whole { // no end of it makes the reader fail
		_, _ = arMembers([]byte(whole[:i]))
	}
}
