//go:build cgo && linux

package main

// modules are what is converted. What -init and the converter left with cgo is in what the program prints.
var modules = []module{
	{
		name: "gocroaring", path: "github.com/RoaringBitmap/gocroaring", version: "v0.4.0",
		sum:   "h1:5nufXUgWpBEUNEJXw7926YAA58ZAQRpWPrQV1xCoSjc=",
		files: []string{"gocroaring.go"},
		// It writes only when memory runs out, or to say that a bitmap is broken. A frozen view keeps its bytes.
		answers: answers{
			quick: []string{"*"},
			elements: map[string][]string{
				"roaring_bitmap_of_ptr": {"int(arg1)"}, "roaring_bitmap_add_many": {"int(arg2)"}, "roaring_bitmap_select": nil,
				"roaring_bitmap_portable_deserialize_safe": {"int(arg2)"},
			},
		},
		tests: []tests{{"", "gocroaring", "^(TestStressMemory|TestWriteFrozen)$", false}},
		leaf:  "Contains", bench: `
func BenchmarkFromCgoContains(b *testing.B) {
	r := New(1, 2, 3, 100000)
	for b.Loop() {
		r.Contains(3)
	}
}

func BenchmarkFromCgoAdd(b *testing.B) {
	r := New()
	for i := uint32(0); b.Loop(); i++ {
		r.Add(i & 0xffff)
	}
}

func BenchmarkFromCgoRank(b *testing.B) {
	r := New(1, 2, 3, 100000)
	for b.Loop() {
		r.Rank(4)
	}
}

func BenchmarkFromCgoAndCardinality(b *testing.B) {
	r, s := New(), New()
	r.AddRange(0, 10000)
	s.AddRange(5000, 15000)
	for b.Loop() {
		r.AndCardinality(s)
	}
}
`,
	},
	{
		name: "h3", path: "github.com/uber/h3-go/v4", version: "v4.1.0",
		sum:   "h1:HWmEFiTxS3m4WgwDZjt4N73klOhrUZ/aFoY+RC6VFZk=",
		files: []string{"h3.go"},
		// The sizes that its manual has: of one value, and of what it lists.
		answers: answers{elements: map[string][]string{
			"latLngToCell": {"1"}, "localIjToCell": {"1"},
			"getRes0Cells": {"122"}, "getPentagons": {"12"}, "originToDirectedEdges": {"6"}, "directedEdgeToCells": {"2"},
		}},
		tests: []tests{{"", "h3", "", false}},
		leaf:  "Resolution", bench: `
func BenchmarkFromCgoLatLngToCell(b *testing.B) {
	for b.Loop() {
		LatLngToCell(LatLng{Lat: 37.7, Lng: -122.4}, 9)
	}
}

func BenchmarkFromCgoResolution(b *testing.B) {
	c := LatLngToCell(LatLng{Lat: 37.7, Lng: -122.4}, 9)
	for b.Loop() {
		c.Resolution()
	}
}

func BenchmarkFromCgoParent(b *testing.B) {
	c := LatLngToCell(LatLng{Lat: 37.7, Lng: -122.4}, 9)
	for b.Loop() {
		c.Parent(5)
	}
}

func BenchmarkFromCgoBoundary(b *testing.B) {
	c := LatLngToCell(LatLng{Lat: 37.7, Lng: -122.4}, 9)
	for b.Loop() {
		c.Boundary()
	}
}
`,
	},
	{
		name: "blst", path: "github.com/supranational/blst", version: "v0.3.17",
		sum:    "h1:OyduggShfN3CWEDdrqChEUZyt1iIsVAFApTKSzqoxAo=",
		folder: "bindings/go", files: []string{"blst.go"},
		// The lengths of serialized points, as its manual has them, which the Go package compares before the call.
		answers: answers{elements: map[string][]string{
			"blst_p1_uncompress": {"48"}, "blst_p1_compress": {"48"}, "blst_p1_affine_compress": {"48"},
			"blst_p1_deserialize": {"96"}, "blst_p1_serialize": {"96"}, "blst_p1_affine_serialize": {"96"},
			"blst_p2_uncompress": {"96"}, "blst_p2_compress": {"96"}, "blst_p2_affine_compress": {"96"},
			"blst_p2_deserialize": {"192"}, "blst_p2_serialize": {"192"}, "blst_p2_affine_serialize": {"192"},
			"blst_bendian_from_scalar": {"32"}, "blst_lendian_from_scalar": {"32"}, "go_scalar_from_bendian": {"32"},
			"blst_lendian_from_fp": {"48"}, "blst_fp_from_lendian": {"48"}, "blst_fp_from_bendian": {"48"},
			"blst_bendian_from_fp12": {"576"},
		}},
		tests: []tests{{"bindings/go", "blst", "", false}},
		leaf:  "Equals", bench: `
func BenchmarkFromCgoEquals(b *testing.B) {
	var p, q P1Affine
	for b.Loop() {
		p.Equals(&q)
	}
}

func BenchmarkFromCgoCompress(b *testing.B) {
	var p P1Affine
	for b.Loop() {
		p.Compress()
	}
}

func BenchmarkFromCgoKeyGen(b *testing.B) {
	seed := make([]byte, 32)
	for b.Loop() {
		KeyGen(seed)
	}
}
`,
	},
	{
		name: "cref", path: "github.com/bwesterb/go-ristretto", version: "v1.2.4",
		sum:    "h1:8HUl/bYdUaLakTdT2mfYomzPego+qjs5dOrYgAo3+J0=",
		folder: "cref", files: []string{"cref.go"},
		answers: answers{elements: map[string][]string{
			"fe25519_pack": {"32"}, "fe25519_unpack": {"32"}, "group_ge_pack": {"32"}, "group_ge_unpack": {"32"},
			"group_scalar_pack": {"32"}, "group_scalar_unpack": {"32"},
		}},
		tests: []tests{{"edwards25519", "edwards25519_test", "", true}}, // which compare Go with C
		leaf:  "Negate", bench: `
func BenchmarkFromCgoNegate(b *testing.B) {
	var p GroupGe
	for b.Loop() {
		p.Neg(&p)
	}
}

func BenchmarkFromCgoAdd(b *testing.B) {
	var p, q GroupGe
	for b.Loop() {
		p.Add(&p, &q)
	}
}

func BenchmarkFromCgoPack(b *testing.B) {
	var p GroupGe
	var to [32]byte
	for b.Loop() {
		p.Pack(&to)
	}
}
`,
	},
	{
		name: "zstd", path: "github.com/DataDog/zstd", version: "v1.5.7",
		sum:   "h1:ybO8RBeh29qrxIhCA9E8gKY6xfONU9T6G6aP9DTKfLE=",
		files: []string{"zstd.go", "zstd_bulk.go", "zstd_ctx.go", "errors.go", "zstd_stream.go"},
		// They wait for threads where a context has some, and only SetNbWorkers of a stream makes any. Both kinds of
		// dictionaries are copies.
		answers: answers{
			quick: []string{
				"ZSTD_compress", "ZSTD_decompress", "ZSTD_createCCtx", "ZSTD_createDCtx", "ZSTD_freeCCtx", "ZSTD_freeDCtx",
				"ZSTD_compressCCtx", "ZSTD_decompressDCtx", "ZSTD_compress_usingCDict", "ZSTD_decompress_usingDDict",
				"ZSTD_freeCDict", "ZSTD_freeDDict",
			},
			elements: map[string][]string{"ZSTD_getErrorName": nil, "ZSTD_createCDict": nil, "ZSTD_createDDict": nil},
		},
		tests: []tests{{"", "zstd", "", false}},
		leaf:  "Decompress", bench: `
func BenchmarkFromCgoDecompress(b *testing.B) {
	small, err := Compress(nil, []byte("a small message, as caches and queues have them"))
	if err != nil {
		b.Fatal(err)
	}
	c, to := NewCtx(), make([]byte, 64)
	for b.Loop() {
		if _, err := c.DecompressInto(to, small); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromCgoIsError(b *testing.B) {
	for b.Loop() {
		cIsError(1)
	}
}
`,
	},
}
