//go:build unix

package e2e

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var searchListens = regexp.MustCompile(`msg=listening url=(\S+)`)

func TestSearch(t *testing.T) {
	p, url := start(t, searchListens, build(t, "../examples/search"), "-addr", "127.0.0.1:0", "-alloc=lean")
	ctx := browser(t)

	do(t, ctx, chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#go")))
	shoot(t, ctx, "form")

	t.Run("all feeds", func(t *testing.T) {
		// The boxes are ticked.
		do(t, ctx, chromedp.Navigate(url), chromedp.SendKeys(chromedp.CSS("#term"), "president"), submit())
		wantFeeds(t, sections(t, texts(t, ctx, "h2")), "CNN", "BBC", "NYT")
		marks := texts(t, ctx, "li mark")
		if len(marks) == 0 {
			t.Error("nothing is marked")
		}
		for _, m := range marks {
			if !strings.EqualFold(m, "president") {
				t.Errorf("marked %q", m)
			}
		}
		if hits, marked := texts(t, ctx, "li"), texts(t, ctx, "li:has(mark)"); len(hits) != len(marked) {
			t.Errorf("%d of %d hits are marked", len(marked), len(hits))
		}
		total := 0
		for _, n := range sections(t, texts(t, ctx, "h2")) {
			total += n
		}
		if got := texts(t, ctx, "#summary b"); !slices.Equal(got, []string{strconv.Itoa(total)}) {
			t.Errorf("the summary says %v hits, the feeds add up to %d", got, total)
		}
		shoot(t, ctx, "results")
	})

	t.Run("chosen feeds", func(t *testing.T) {
		do(t, ctx, chromedp.Navigate(url), chromedp.Click(chromedp.CSS("#cnn")), chromedp.Click(chromedp.CSS("#nyt")),
			chromedp.SendKeys(chromedp.CSS("#term"), "STORM"), submit())
		wantFeeds(t, sections(t, texts(t, ctx, "h2")), "BBC")

		// The page keeps what was chosen.
		do(t, ctx, chromedp.Click(chromedp.CSS("#cnn")), submit())
		wantFeeds(t, sections(t, texts(t, ctx, "h2")), "CNN", "BBC")
		if term := read(t, ctx, chromedp.Value(chromedp.CSS("#term"))); term != "STORM" {
			t.Errorf("the box holds %q", term)
		}
	})

	t.Run("no hits", func(t *testing.T) {
		do(t, ctx, chromedp.Navigate(url), chromedp.SendKeys(chromedp.CSS("#term"), "zebra"), submit())
		if got := texts(t, ctx, ".none"); len(got) != 3 {
			t.Errorf("%d feeds say that nothing was found, want 3", len(got))
		}
		if got := texts(t, ctx, "li"); len(got) != 0 {
			t.Errorf("%d hits: %q", len(got), got[0])
		}
		shoot(t, ctx, "no-hits")
	})

	t.Run("hostile term", func(t *testing.T) {
		const term = `"><script>document.title = "owned"</script><img src=x onerror=alert(1)>`
		do(t, ctx, chromedp.Navigate(url), chromedp.SendKeys(chromedp.CSS("#term"), term), submit())
		if got := texts(t, ctx, "#summary q"); !slices.Equal(got, []string{term}) {
			t.Errorf("the page shows %q", got)
		}
		if got := texts(t, ctx, "script, img"); len(got) != 0 {
			t.Errorf("the term became %d elements", len(got))
		}
		if title := read(t, ctx, chromedp.Title()); !strings.HasPrefix(title, term) {
			t.Errorf("title %q", title)
		}
	})

	if code := stop(t, p); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, stderr := p.Output(); stderr != "" {
		t.Errorf("stderr holds %q", stderr)
	}
}

func TestSearchFailedFeed(t *testing.T) {
	p, url := start(t, searchListens, build(t, "../examples/search"), "-addr", "127.0.0.1:0", "-feeds",
		"cnn=http://127.0.0.1:1/")
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(url), chromedp.SendKeys(chromedp.CSS("#term"), "storm"), submit())
	if got := texts(t, ctx, ".message"); len(got) != 1 || !strings.Contains(got[0], "could not be searched") {
		t.Errorf("messages %q", got)
	}
	if got := texts(t, ctx, ".box"); !slices.Equal(got, []string{"CNN"}) {
		t.Errorf("boxes %q", got)
	}
	shoot(t, ctx, "failed-feed")
	if code := stop(t, p); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func submit() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS("#go")))
		return err
	})
}

// sections reads headings such as "BBC 37".
func sections(t *testing.T, headings []string) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for _, h := range headings {
		name, count, _ := strings.Cut(h, " ")
		n, err := strconv.Atoi(count)
		if err != nil || n == 0 {
			t.Errorf("heading %q has no number of hits", h)
		}
		got[name] = n
	}
	return got
}

func wantFeeds(t *testing.T, got map[string]int, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for _, name := range want {
		ok = ok && got[name] > 0
	}
	if !ok {
		t.Errorf("hits by feed %v, want hits in %v only", got, want)
	}
}
