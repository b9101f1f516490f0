package tidy_test

import (
	"testing"

	"evenkeel.dev/internal/tidy"
)

func TestLinks(t *testing.T) {
	runRule(t, tidy.CheckLinks, []ruleTest{
		{"whole", files{
			"README.md": "# Even *keel*: `aio` & you!\n" +
				"[a](docs/a.md) [`b`](./docs/a.md#two-1 \"title\") [dir](docs) [dir](docs/) [top](#even-keel-aio--you)\n" +
				"[![chart](chart.png)](docs/a%20b.md) <img src=\"chart.png\"> [web](https://example.com/x) [mail](mailto:a@b.c)\n" +
				"[ref]: docs/a.md#here\n" +
				"`[code](nowhere.md)`\n" +
				"```md\n[code](nowhere.md)\n# Not a heading\n```\n",
			"docs/a.md":          "## Two\n## Two\n<a id=\"here\"></a> [up](../README.md) [go](../a.go#L3)\n",
			"docs/a b.md":        "",
			"chart.png":          "\x89PNG\x00",
			"a.go":               "package a\n",
			"a/testdata/page.md": "[x](nowhere.md)\n",
		}, nil},
		{"broken", files{
			"README.md": "# One\n[a](nowhere.md) text [b](docs/a.md#three)\n[c](#two)\n[d]: ../x.md\n",
			"docs/a.md": "# Two\n```\n# Three\n```\n![x](chart.png) <a href=\"/README.md\">\n",
		}, []string{
			"README.md:2: link to nowhere.md: no such file",
			"README.md:2: link to docs/a.md#three: no such heading",
			"README.md:3: link to #two: no such heading",
			"README.md:4: link to ../x.md: no such file",
			"docs/a.md:5: link to chart.png: no such file",
			"docs/a.md:5: link to /README.md: no such file",
		}},
	})
}
