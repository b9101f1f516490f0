package odd

import "testing"

func TestOdd(t *testing.T) {
	if Plain(4) != 9 || plain(4) != 9 || Tells(2) != 7 || Tell(5) != 15 || Count() != 0 || Direct(1) != 3 {
		t.Error(Plain(4), Tells(2), Tell(5), Count(), Direct(1))
	}
}
