//go:build cgo

package sig

// These loops call the functions of fast.go.

func fastAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = Add2(sum, i)
	}
	return float64(sum)
}

func fastAdd6(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = Add6(sum, 2, 3, 4, 5, i)
	}
	return float64(sum)
}

func fastAddDouble(n int) float64 {
	var sum float64
	for range n {
		sum = AddDouble(sum, 2)
	}
	return sum
}

func fastDot(n int) float64 {
	a, b := [8]float64{1, 2, 3, 4, 5, 6, 7, 8}, [8]float64{8, 7, 6, 5, 4, 3, 2, 1}
	for range n {
		a[0] = Dot(a[:], b[:]) * 1e-3
	}
	return a[0]
}

func fastCross(n int) float64 {
	v, w := Vec{1, 2, 3}, Vec{0.3, 0.2, 0.1}
	for range n {
		v = Cross(v, w)
	}
	return float64(v.X)
}

func measuredAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = MeasuredAdd2(sum, i)
	}
	return float64(sum)
}
