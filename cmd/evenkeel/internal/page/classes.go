package page

import "evenkeel.dev/cmd/evenkeel/internal/compare"

// pageClasses is a table of the classes of one variant's requests.
type pageClasses struct {
	pageVariant
	Columns []string
	Pooled  string
	Rows    []compare.ClassRow
}

func classesOf(c *compare.Comparison) (tables []pageClasses) {
	variants := pageVariants(c)
	for _, t := range c.Classes() {
		tables = append(tables, pageClasses{variants[t.Column], compare.ClassColumns, t.Pooled, t.Rows})
	}
	return tables
}
