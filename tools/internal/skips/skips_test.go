package skips

import (
	"strings"
	"testing"
)

func TestSkips(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `{"Action":"pass","Package":"evenkeel.dev/aio","Test":"TestA"}`, "skipped: nothing\n"},
		{"a package without tests", `{"Action":"skip","Package":"evenkeel.dev/aio"}`, "skipped: nothing\n"},
		{"one", `{"Action":"output","Package":"evenkeel.dev/fastc","Test":"TestA","Output":"    a_test.go:7: no qemu\n"}
{"Action":"output","Package":"evenkeel.dev/fastc","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"evenkeel.dev/fastc","Test":"TestA"}`, "skipped: 1 test: no qemu (fastc TestA)\n"},
		{"one reason, two tests, and a plain line", `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: no qemu\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:70: no qemu\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
vet of arm64: no compiler`, "skipped: 2 tests: no qemu (p TestA, p TestB)\nskipped: vet of arm64: no compiler\n"},
		{"no reason", `{"Action":"skip","Package":"p","Test":"TestA"}`, "skipped: 1 test: no reason given (p TestA)\n"},
		{"what passed may log", `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: note\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestA"}`, "skipped: 1 test: no reason given (p TestA)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var list List
			if err := list.Read(strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			list.Print(&out)
			if out.String() != tt.want {
				t.Errorf("got\n%swant\n%s", out.String(), tt.want)
			}
		})
	}
}
