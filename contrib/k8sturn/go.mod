module evenkeel.dev/contrib/k8sturn

go 1.26.0

require evenkeel.dev v0.0.0

require go.uber.org/goleak v1.3.0 // indirect

replace evenkeel.dev => ../../
