package feed

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Longer texts are cut, further items are left out.
const (
	MaxItems    = 2000
	maxTitleLen = 512
	maxTextLen  = 4096
	maxLinkLen  = 2048 // a longer link is dropped
	maxXMLDepth = 64
)

// ErrNotRSS is what Parse returns for a document such as an HTML page.
var ErrNotRSS = errors.New("not an RSS 2.0 document; give the address of the feed itself")

// Item is one entry of a feed. Requests share it.
type Item struct {
	Title string // plain text, unescaped
	Text  string // plain text, unescaped
	Link  string // absolute http or https URL, or empty

	LowerTitle string // lower case, once and for all
	LowerText  string
}

// Parse reads an RSS 2.0 document. It stops after [MaxItems] items.
func Parse(r io.Reader) ([]Item, error) {
	d := xml.NewDecoder(r)
	d.Entity = xml.HTMLEntity // many feeds say &nbsp;
	var items []Item
	isRSS, depth := false, 0
	for {
		tok, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && isRSS:
			return items, nil
		case errors.Is(err, io.EOF):
			return nil, ErrNotRSS
		case err != nil:
			return nil, fmt.Errorf("read RSS: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if isRSS = isRSS || t.Name.Local == "rss"; !isRSS {
				return nil, ErrNotRSS
			}
			if t.Name.Local != "item" {
				if depth++; depth > maxXMLDepth {
					return nil, fmt.Errorf("read RSS: elements nested deeper than %d", maxXMLDepth)
				}
				continue
			}
			var e entry
			if err := d.DecodeElement(&e, &t); err != nil {
				return nil, fmt.Errorf("read RSS item %d: %w", len(items)+1, err)
			}
			if items = append(items, e.item(t.Name.Space)); len(items) == MaxItems {
				return items, nil
			}
		case xml.EndElement:
			depth--
		}
	}
}

// entry has lists because encoding/xml ignores namespaces: <media:title> would overwrite <title>.
type entry struct {
	Titles []element `xml:"title"`
	Texts  []element `xml:"description"`
	Links  []element `xml:"link"`
}

type element struct {
	XMLName xml.Name
	Value   string `xml:",chardata"`
}

// item takes the elements of the item's own namespace.
func (e entry) item(space string) Item {
	it := Item{
		Title: plainText(first(e.Titles, space), maxTitleLen),
		Text:  plainText(first(e.Texts, space), maxTextLen),
		Link:  webLink(first(e.Links, space)),
	}
	it.LowerTitle, it.LowerText = strings.ToLower(it.Title), strings.ToLower(it.Text)
	return it
}

func first(es []element, space string) string {
	for _, e := range es {
		if e.XMLName.Space == space {
			return e.Value
		}
	}
	return ""
}

// webLink returns link if a page may offer it.
func webLink(link string) string {
	link = strings.TrimSpace(link)
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || len(link) > maxLinkLen {
		return ""
	}
	return link
}

// plainText returns one line without tags, for looks and not for safety: "&lt;b&gt;" becomes "<b>".
func plainText(s string, maxLen int) string {
	s = html.UnescapeString(tag.ReplaceAllString(s, " "))
	s = strings.Join(strings.Fields(s), " ")
	return cut(s, maxLen)
}

// tag is a '<' before a letter, '/' or '!', so that "2 < 3" stays. Without a '>' it takes the rest.
var tag = regexp.MustCompile(`<[/!A-Za-z][^>]*>?`)

// cut shortens s, the ellipsis included, without splitting a rune.
func cut(s string, maxLen int) string {
	const ellipsis = "…"
	if len(s) <= maxLen {
		return s
	}
	end := maxLen - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}
