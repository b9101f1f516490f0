// Command gen writes the sample feeds that package feeds embeds. Its output depends on
// nothing but this folder: the same parts give the same bytes.
//
//	go generate ./feeds
package main

import (
	"encoding/xml"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// newest is the date of each feed's first item. It is fixed: a clock would make every run differ.
var newest = time.Date(2026, time.March, 2, 18, 30, 0, 0, time.UTC)

type sample struct {
	name      string // of the file, and of the host in links
	seed      uint64
	items     int
	titleCase bool
}

var samples = []sample{
	{name: "cnn", seed: 1, items: 280, titleCase: true},
	{name: "bbc", seed: 2, items: 300},
	{name: "nyt", seed: 3, items: 260, titleCase: true},
}

// rss, channel and item are what is written. Package feed reads RSS on its own terms.
type rss struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Channel channel  `xml:"channel"`
}

type channel struct {
	Title       string `xml:"title"`
	Link        string `xml:"link"`
	Description string `xml:"description"`
	Language    string `xml:"language"`
	Items       []item `xml:"item"`
}

type item struct {
	Title       string `xml:"title"`
	Link        string `xml:"link"`
	Description string `xml:"description"`
	GUID        string `xml:"guid"`
	PubDate     string `xml:"pubDate"`
}

func main() {
	dir := flag.String("dir", ".", "`folder` to write the feeds to")
	flag.Parse()
	for _, s := range samples {
		if err := write(filepath.Join(*dir, s.name+".xml"), s); err != nil {
			log.Fatal(err)
		}
	}
}

func write(path string, s sample) error {
	body, err := xml.MarshalIndent(compose(s), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(xml.Header+string(body)+"\n"), 0o644)
}

// compose makes one feed; no two of its items share a headline.
func compose(s sample) rss {
	r := rand.New(rand.NewPCG(s.seed, 0))
	base := "https://" + s.name + ".example/"
	ch := channel{
		Title:       strings.ToUpper(s.name) + " (sample feed)",
		Link:        base,
		Description: "Invented news for an example program; not from any publisher.",
		Language:    "en",
	}
	published := newest
	seen := make(map[string]bool)
	for len(ch.Items) < s.items {
		th := themes[r.IntN(len(themes))]
		title := headline(r, th, s.titleCase)
		if seen[title] {
			continue
		}
		seen[title] = true
		link := fmt.Sprintf("%s%s/%s?ref=rss&n=%d", base, published.Format("2006/01/02"), slug(title), len(ch.Items)+1)
		ch.Items = append(ch.Items, item{
			Title: title, Link: link, GUID: link,
			Description: description(r, th),
			PubDate:     published.Format(time.RFC1123Z),
		})
		published = published.Add(-time.Duration(7+r.IntN(60)) * time.Minute)
	}
	return rss{Version: "2.0", Channel: ch}
}

func headline(r *rand.Rand, th theme, titleCase bool) string {
	s := pick(r, th.subjects) + " " + pick(r, th.actions) + " " + pick(r, places)
	if titleCase {
		return title(s)
	}
	return upperFirst(s)
}

// description adds details until there are enough of them to read.
func description(r *rand.Rand, th theme) string {
	const enoughBytes = 170
	s := pick(r, openings) + "."
	for n, i := range r.Perm(len(th.details)) {
		if n >= 2 && len(s) >= enoughBytes {
			break
		}
		s += " " + th.details[i]
	}
	return s + " " + pick(r, th.outlooks)
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// small words stay in lower case inside a headline.
var small = map[string]bool{
	"a": true, "an": true, "and": true, "at": true, "by": true, "for": true, "from": true, "in": true,
	"into": true, "of": true, "on": true, "over": true, "the": true, "to": true, "with": true,
}

func title(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		if i == 0 || !small[w] {
			words[i] = upperFirst(w)
		}
	}
	return strings.Join(words, " ")
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// slug is a headline as a path segment: lower-case letters and digits joined by hyphens.
func slug(s string) string {
	f := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(f, "-")
}
