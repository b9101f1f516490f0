module evenkeel.dev/examples

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	go.uber.org/goleak v1.3.0
)

replace evenkeel.dev => ../
