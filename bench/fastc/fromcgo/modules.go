//go:build cgo && linux

package main

// modules are what is converted. What stays with cgo, and why, is in docs/guides/fastcgen.md.
var modules = []module{
	{
		name: "gocroaring", path: "github.com/RoaringBitmap/gocroaring", version: "v0.4.0",
		files: []string{"gocroaring.go"}, skip: "^(TestStressMemory|TestWriteFrozen)$",
		finish: func(e *editor) { // it writes only when memory runs out, or to say that a bitmap is broken
			e.all(e.leaf, "//fastc:slow\n", "")
		},
		replace: func(e *editor) {
			e.all("gocroaring.go", "cpointer *C.struct_roaring_bitmap_s", "cpointer *roaringBitmap")
			e.all("gocroaring.go", "C.size_t(len(x)), (*C.uint32_t)(ptr)", "x")
			e.pattern("gocroaring.go", `\t+ptr := unsafe.Pointer\(&x\[0\]\)\n`, "")
			e.all("gocroaring.go", "po[i] = v.cpointer", "po[i] = (*C.struct_roaring_bitmap_s)(unsafe.Pointer(v.cpointer))")
			e.all("gocroaring.go", "&Bitmap{C.roaring_bitmap_or_many(C.size_t(number), (**C.struct_roaring_bitmap_s)(unsafe.Pointer(&po[0])))}",
				"&Bitmap{(*roaringBitmap)(unsafe.Pointer(C.roaring_bitmap_or_many(C.size_t(number), (**C.struct_roaring_bitmap_s)(unsafe.Pointer(&po[0])))))}")
			e.pattern("gocroaring.go", `var element uint32 = 0\n\texists := bool\((C.roaring_bitmap_select\(rb.cpointer, C.uint32_t\(rank\)), .*\n`, "exists, element := $1)\n")
			e.pattern("gocroaring.go", `(C.roaring_bitmap_(?:portable_serialize|frozen_serialize|to_uint32_array)\()rb.cpointer`, "$1(*C.struct_roaring_bitmap_s)(unsafe.Pointer(rb.cpointer))")
			e.pattern("gocroaring.go", `\tbchar := .*\n(\tanswer := &Bitmap\{C.roaring_bitmap_portable_deserialize_safe\()bchar, C.size_t\(len\(b\)\)`, "${1}b")
			e.all("gocroaring.go", "C.roaring_create_iterator(a.cpointer)", "C.roaring_create_iterator((*C.struct_roaring_bitmap_s)(unsafe.Pointer(a.cpointer)))")
			e.pattern("gocroaring.go", `(C.roaring_bitmap_(?:frozen_view|statistics)\()rb.cpointer`, "$1(*C.struct_roaring_bitmap_s)(unsafe.Pointer(rb.cpointer))")
			e.all("gocroaring.go", "Bitmap{C.roaring_bitmap_frozen_view(bchar, C.size_t(len(b)))}", "Bitmap{(*roaringBitmap)(unsafe.Pointer(C.roaring_bitmap_frozen_view(bchar, C.size_t(len(b)))))}")
			e.calls("gocroaring.go", "roaring_create_iterator", "roaring_advance_uint32_iterator", "roaring_free_uint32_iterator", "roaring_bitmap_frozen_view", "roaring_bitmap_statistics")
		},
		bench: `
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
		files:  []string{"h3.go"},
		finish: func(*editor) {},
		replace: func(e *editor) {
			e.pattern("h3.go", `var (\w+) C\.(?:double|H3Index|int|int64_t)\n\s*C\.(\w+)\(((?:C\.\w+\(\w+\)(?:, )?|latLng.toCPtr\(\), )+), &(\w+)\)`, "_, $1 := C.$2($3)")
			e.pattern("h3.go", `var (\w+) C\.LatLng\n`, "var $1 latLng\n")
			e.pattern("h3.go", `var (\w+) C\.CellBoundary\n`, "var $1 cellBoundary\n")
			e.all("h3.go", "func latLngFromC(cg C.LatLng) LatLng {", "func latLngFromC(cg latLng) LatLng {")
			e.all("h3.go", "float64(cg.lat)", "float64(cg.Lat)")
			e.all("h3.go", "float64(cg.lng)", "float64(cg.Lng)")
			e.all("h3.go", "func cellBndryFromC(cb *C.CellBoundary) CellBoundary {", "func cellBndryFromC(cb *cellBoundary) CellBoundary {")
			e.all("h3.go", "i := C.int(0); i < cb.numVerts", "i := int32(0); i < cb.NumVerts")
			e.all("h3.go", "cb.verts[i]", "cb.Verts[i]")
			e.all("h3.go", "func (g LatLng) toCPtr() *C.LatLng {\n\treturn &C.LatLng{\n\t\tlat: C.double(DegsToRads * g.Lat),\n\t\tlng: C.double(DegsToRads * g.Lng),",
				"func (g LatLng) toCPtr() *latLng {\n\treturn &latLng{\n\t\tLat: DegsToRads * g.Lat,\n\t\tLng: DegsToRads * g.Lng,")
			e.all("h3.go", "*((*C.LatLng)(pv))", "*((*latLng)(pv))")
			e.all("h3.go", "func (ij CoordIJ) toCPtr() *C.CoordIJ {\n\treturn &C.CoordIJ{\n\t\ti: C.int(ij.I),\n\t\tj: C.int(ij.J),",
				"func (ij CoordIJ) toCPtr() *coordIJ {\n\treturn &coordIJ{\n\t\tI: int32(ij.I),\n\t\tJ: int32(ij.J),")
			e.all("h3.go", "var out C.CoordIJ", "var out coordIJ")
			e.all("h3.go", "CoordIJ{int(out.i), int(out.j)}", "CoordIJ{int(out.I), int(out.J)}")
			e.pattern("h3.go", `(C.(?:cellToLocalIj|localIjToCell)\(.*, )0, `, "$1")
			e.pattern("h3.go", `var out C.H3Index\n\tC.localIjToCell\((.*), &out\)`, "_, out := C.localIjToCell($1)")
			e.calls("h3.go", "originToDirectedEdges", "directedEdgeToCells", "uncompactCellsSize") // their slices are of C's type
		},
		bench: `
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
}
