package feed

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rss(items string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>` +
		`<rss version="2.0" xmlns:media="urn:media" xmlns:atom="urn:atom"><channel><title>Feed</title>` +
		items + `</channel></rss>`
}

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		doc  string
		want []Item
	}{
		{"empty channel", rss(""), nil},
		{
			"plain item",
			rss(`<item><title>A Storm</title><link>https://a.example/1?x=1&amp;y=2</link>` +
				`<description>It Rains</description></item>`),
			[]Item{{
				Title: "A Storm", Text: "It Rains", Link: "https://a.example/1?x=1&y=2", LowerTitle: "a storm",
				LowerText: "it rains",
			}},
		},
		{
			"other vocabularies do not overwrite",
			rss(`<item><media:title>no</media:title><title>Yes</title><media:title>no</media:title>` +
				`<atom:link>https://no.example/</atom:link><link>https://yes.example/</link>` +
				`<media:description>no</media:description></item>`),
			[]Item{{Title: "Yes", LowerTitle: "yes", Link: "https://yes.example/"}},
		},
		{
			"default namespace",
			`<rss xmlns="urn:x"><channel><item><title>Yes</title></item></channel></rss>`,
			[]Item{{Title: "Yes", LowerTitle: "yes"}},
		},
		{
			"CDATA with mark-up",
			rss(`<item><title><![CDATA[Q&amp;A: <b>bold</b>]]></title>` +
				`<description><![CDATA[<p>One<br/>two</p> 2 < 3 <!-- c -->]]></description></item>`),
			[]Item{{Title: "Q&A: bold", LowerTitle: "q&a: bold", Text: "One two 2 < 3", LowerText: "one two 2 < 3"}},
		},
		{
			"twice escaped mark-up becomes text",
			rss(`<item><title>&amp;lt;script&amp;gt;</title></item>`),
			[]Item{{Title: "<script>", LowerTitle: "<script>"}},
		},
		{
			"HTML entities and white space",
			rss("<item><title>\n caf&eacute;&nbsp;\t noir </title></item>"),
			[]Item{{Title: "café noir", LowerTitle: "café noir"}},
		},
		{"script link", rss(`<item><link>javascript:alert(1)</link></item>`), []Item{{}}},
		{"relative link", rss(`<item><link>/news/1</link></item>`), []Item{{}}},
		{
			"endless link", rss(`<item><link>https://a.example/` + strings.Repeat("a", maxLinkLen) + `</link></item>`),
			[]Item{{}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(strings.NewReader(tt.doc))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name   string
		doc    string
		notRSS bool
	}{
		{"nothing", "", true},
		{"white space", " \n", true},
		{"text", "service unavailable", true},
		{"HTML page", "<!doctype html><html><body>Sign in</body></html>", true},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"></feed>`, true},
		{"cut off", rss("<item><title>x</title></item>")[:150], false},
		{"cut off inside an item", rss("<item><title>x</title></item>")[:175], false},
		{"mismatched tags", "<rss><channel></rss>", false},
		{"unknown charset", `<?xml version="1.0" encoding="x-unknown"?><rss></rss>`, false},
		{"invalid UTF-8", rss("<item><title>\xff</title></item>"), false},
		{"deep nesting", "<rss>" + strings.Repeat("<a>", maxXMLDepth+1), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items, err := Parse(strings.NewReader(tt.doc))
			if err == nil {
				t.Fatalf("got %d items and no error", len(items))
			}
			if got := errors.Is(err, ErrNotRSS); got != tt.notRSS {
				t.Errorf("errors.Is(%v, ErrNotRSS) = %v", err, got)
			}
		})
	}
}

func TestParseBoundsItems(t *testing.T) {
	items, err := Parse(strings.NewReader(rss(strings.Repeat("<item><title>x</title></item>", MaxItems+1))))
	if err != nil || len(items) != MaxItems {
		t.Errorf("got %d items and error %v, want %d items", len(items), err, MaxItems)
	}
}

func TestParseBoundsTexts(t *testing.T) {
	long := strings.Repeat("ü", maxTextLen)
	items, err := Parse(strings.NewReader(rss(fmt.Sprintf("<item><title>%s</title><description>%s</description></item>",
		long, long))))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got string
		max int
	}{{items[0].Title, maxTitleLen}, {items[0].Text, maxTextLen}} {
		if len(c.got) > c.max || len(c.got) < c.max-2 || !strings.HasSuffix(c.got, "ü…") {
			t.Errorf("%d bytes, ending in %q; want at most %d and whole runes", len(c.got), c.got[len(c.got)-6:], c.max)
		}
	}
}

func TestPlainText(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"<", "<"},
		{"a <", "a <"},
		{"<<b>x", "< x"},
		{"a<br>b", "a b"},
		{"1 <2> 3", "1 <2> 3"},
		{"<img src=x onerror='alert(1)'", ""},
		{"</p>end", "end"},
		{"AT&amp;T", "AT&T"},
	}
	for _, tt := range tests {
		if got := plainText(tt.in, 100); got != tt.want {
			t.Errorf("plainText(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(rss(`<item><title>A &amp; B</title><link>https://a.example/</link>` +
		`<description><![CDATA[<p>x</p>]]></description></item>`))
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, doc string) {
		items, err := Parse(strings.NewReader(doc))
		if err != nil && items != nil {
			t.Errorf("items beside error %v", err)
		}
		for _, it := range items {
			if len(it.Title) > maxTitleLen || len(it.Text) > maxTextLen {
				t.Errorf("texts of %d and %d bytes", len(it.Title), len(it.Text))
			}
			if it.Link != "" && !strings.HasPrefix(strings.ToLower(it.Link), "http") {
				t.Errorf("link %q", it.Link)
			}
			if it.LowerTitle != strings.ToLower(it.Title) || it.LowerText != strings.ToLower(it.Text) {
				t.Errorf("lower-case copies differ: %+v", it)
			}
		}
	})
}
