package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"

	"evenkeel.dev/internal/chart"
)

//go:embed page.css
var ownStyle string

// style is what both pages share.
var style = chart.Style + ownStyle

// pageFigure is a headline figure.
type pageFigure struct{ Name, Value, Ratio string }

// contentSecurityPolicy allows one style and one script by their hashes, and nothing else.
func contentSecurityPolicy(style, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// variantClass names the colour and dash of a column; page.css has eight, then they return.
func variantClass(column int) string { return fmt.Sprintf("v%d", column%8) }
