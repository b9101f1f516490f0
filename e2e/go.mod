module evenkeel.dev/e2e

go 1.26.0

require (
	evenkeel.dev v0.0.0
	evenkeel.dev/examples v0.0.0
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.1
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/kr/text v0.2.0 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace evenkeel.dev => ../

replace evenkeel.dev/contrib/etcdturn => ../contrib/etcdturn

replace evenkeel.dev/examples => ../examples
