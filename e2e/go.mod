module evenkeel.dev/e2e

go 1.26.0

require (
	evenkeel.dev v0.0.0
	evenkeel.dev/examples v0.0.0
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.1
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect

replace evenkeel.dev => ../

replace evenkeel.dev/contrib/etcdturn => ../contrib/etcdturn

replace evenkeel.dev/examples => ../examples
