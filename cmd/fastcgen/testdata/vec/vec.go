package vec

// Row is a row of numbers.
type Row []float32

// Celsius is a temperature.
type Celsius int32

// Text is some text.
type Text string

const maxPath = 100
