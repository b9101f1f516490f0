package refuse

// Table is a Go type that C cannot take.
type Table map[string]int

const limit = 8
