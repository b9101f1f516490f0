package page

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"unicode/utf8"
)

func ExampleHighlight() {
	fmt.Println(Highlight("Storm & rain: <STORM>", "storm"))
	// Output: <mark>Storm</mark> &amp; rain: &lt;<mark>STORM</mark>&gt;
}

func TestHighlight(t *testing.T) {
	tests := []struct {
		name, text, term, want string
	}{
		{"none", "calm", "storm", "calm"},
		{"empty term", "a<b", "", "a&lt;b"},
		{"empty text", "", "a", ""},
		{"whole text", "Storm", "sTORM", "<mark>Storm</mark>"},
		{"next to each other", "aaaa", "aa", "<mark>aa</mark><mark>aa</mark>"},
		{"overlapping, from the left", "ababa", "aba", "<mark>aba</mark>ba"},
		{"false start", "aab", "ab", "a<mark>ab</mark>"},
		{"cut off at the end", "stor", "storm", "stor"},
		{"escaped around", "<b>x</b>", "x", "&lt;b&gt;<mark>x</mark>&lt;/b&gt;"},
		{"escaped inside", "a <b> c", "<B>", "a <mark>&lt;b&gt;</mark> c"},
		{"part of an entity is not found", "AT&T", "amp", "AT&amp;T"},
		{"ampersand", "AT&T", "&", "AT<mark>&amp;</mark>T"},
		{"literal entity", "&lt;", "lt", "&amp;<mark>lt</mark>;"},
		{"a mark in the text", "<mark>x</mark>", "mark", "&lt;<mark>mark</mark>&gt;x&lt;/<mark>mark</mark>&gt;"},
		{"quotes", `say "x" 'y'`, "x", "say &#34;<mark>x</mark>&#34; &#39;y&#39;"},
		{"lower case is longer", "ȺȺ end", "end", "ȺȺ <mark>end</mark>"},
		{"lower case is longer, in the term", "xȺy", "ⱥ", "x<mark>Ⱥ</mark>y"},
		{"lower case is shorter", "İİ end", "END", "İİ <mark>end</mark>"},
		{"Kelvin sign", "20 \u212a", "k", "20 <mark>\u212a</mark>"},
		{"invalid bytes stay", "\xffa\xfe", "a", "\xff<mark>a</mark>\xfe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Highlight(tt.text, tt.term)); got != tt.want {
				t.Errorf("Highlight(%q, %q)\n got %q\nwant %q", tt.text, tt.term, got, tt.want)
			}
		})
	}
}

// FuzzHighlight has two oracles: without marks and escapes the text is what it was, and
// something is marked exactly if the search would have found it.
func FuzzHighlight(f *testing.F) {
	f.Add("A Storm & <b>rain</b>", "storm")
	f.Add("ȺİK ſ ẞ", "ⱥ")
	f.Add("&amp;lt;<mark>", "mark")
	f.Add("aaaa", "aa")
	f.Add("\xff\xfe", "\ufffd")
	f.Fuzz(func(t *testing.T, text, term string) {
		got := string(Highlight(text, term))
		stripped := strings.NewReplacer("<mark>", "", "</mark>", "").Replace(got)
		if strings.ContainsAny(stripped, `<>"'`) {
			t.Fatalf("unescaped: %q", got)
		}
		if back := html.UnescapeString(stripped); back != text {
			t.Fatalf("text changed:\n got %q\nwant %q", back, text)
		}
		if !utf8.ValidString(text) || !utf8.ValidString(term) {
			return // the handler refuses such terms, the parser such texts
		}
		found := term != "" && strings.Contains(strings.ToLower(text), strings.ToLower(term))
		if marked := strings.Contains(got, "<mark>"); marked != found {
			t.Fatalf("marked %v, found %v: %q", marked, found, got)
		}
	})
}
