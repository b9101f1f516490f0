//go:build cgo && libdeflate

package deflate_test

import (
	"fmt"
	"hash/crc32"
	"strings"

	"evenkeel.dev/examples/deflate"
)

func Example() {
	codec, err := deflate.New(deflate.DefaultLevel)
	if err != nil {
		fmt.Println(err)
		return
	}
	text := []byte(strings.Repeat("an even keel ", 100))
	packed, err := codec.Compress(nil, text)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]byte, len(text)) // as large as the data may be
	n, err := codec.Decompress(out, packed)
	fmt.Println(len(packed) < 40, string(out[:n]) == string(text), err)
	fmt.Println(deflate.CRC32(0, text) == crc32.ChecksumIEEE(text))
	// Output:
	// true true <nil>
	// true
}
