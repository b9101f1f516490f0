module evenkeel.dev/contrib/k8sturn

go 1.26.0

require (
	evenkeel.dev v0.0.0
	go.uber.org/goleak v1.3.0
)

replace evenkeel.dev => ../../
