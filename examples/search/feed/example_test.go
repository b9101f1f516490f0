package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"evenkeel.dev/examples/search/feed"
)

func ExampleCache() {
	fetch := func(context.Context) ([]feed.Item, error) {
		fmt.Println("fetching")
		return feed.Parse(strings.NewReader(`<rss version="2.0"><channel>
			<item><title>Storm closes schools</title></item>
		</channel></rss>`))
	}
	c := feed.NewCache(fetch, feed.Options{Logger: slog.New(slog.DiscardHandler)})
	defer c.Close()

	for range 3 {
		copied, err := c.Get(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(copied.Items[0].Title)
	}
	// Output:
	// fetching
	// Storm closes schools
	// Storm closes schools
	// Storm closes schools
}
