//go:build fastcgen

package refuse

// #include "refuse.h"
import "C"

type (
	Mode   C.enum_r_mode
	Point  C.struct_r_point
	Hidden C.struct_r_hidden
)

// Widths, signs, kinds.

//fastc:call r_i8(a)
func I8(a int16) int8

//fastc:call r_i16(a)
func I16(a int16) int32

//fastc:call r_i32(a)
func I32(a uint32) int32

//fastc:call r_i64(a)
func I64(a float64) int64

//fastc:call r_u32(a)
func U32(a int) uint32

//fastc:call r_u64(a)
func U64(a uint64) int

//fastc:call r_f32(a)
func F32(a float64) float32

//fastc:call r_f64(a)
func F64(a float64) float32

//fastc:call r_bool(a)
func Bool(a uint8) bool

//fastc:call r_i8(a)
func I8Bool(a bool) int8

//fastc:call r_mode(a)
func EnumWidth(a uint8) Mode

//fastc:call r_mode(a)
func EnumFloat(a float32) Mode

//fastc:call r_char(a)
func Char(a int16) int8

//fastc:call r_ld(a)
func LongDouble(a float64) float64

//fastc:call r_complex(a)
func Complex(a float64) float64

//fastc:call r_i128(a)
func Int128(a int64) int64

//fastc:call r_vector(a)
func Vector(a [4]float32) [4]float32

//fastc:call r_wide_sum(a, len(a))
func Wide(a []float64) float64

// Counts and results.

//fastc:call r_f64()
func Few() float64

//fastc:call r_f64(a, a)
func Many(a float64) float64

//fastc:call r_void()
func Void() int32

//fastc:call r_i32(a)
func Dropped(a int32)

//fastc:call r_i32(a)
func OnlyError(a int32) error

//fastc:call r_void()
//fastc:fails ret < 0
func VoidFails() error

//fastc:call r_buffer()
func Buffer() []float64

//fastc:call r_buffer()
func BufferPointer() *float64

//fastc:call r_name()
func Name() string

//fastc:call r_open()
func OpenPoint() *Point

//fastc:call r_open()
func OpenValue() Hidden

//fastc:call r_mid(a, b)
func MidPointer(a, b Point) *Point

// Functions that cannot be called.

//fastc:call r_noproto()
func NoPrototype() int32

//fastc:call r_printf(s)
func Printf(s string) int32

//fastc:call r_valist(s, a)
func VaList(s string, a []byte) int32

//fastc:call r_each(f, n)
func Each(f []byte, n int32)

//fastc:call r_getter()
func Getter() int32

//fastc:call r_variable()
func Variable() int32

// What C takes by address.

//fastc:call r_sum(a, len(a))
func SumInts(a []int64) float64

//fastc:call r_sum(a, len(a))
func SumNarrow(a []float32) float64

//fastc:call r_sum(a, n)
func SumValue(a float64, n uint) float64

//fastc:call r_sum(a, len(a))
func SumPoints(a []Point) float64

//fastc:call r_sum(a, len(a))
func SumStrings(a []string) float64

//fastc:call r_sum(a, len(a))
func SumSlices(a [][]float64) float64

//fastc:call r_sum(a, 8)
func SumPointers(a **float64) float64

//fastc:call r_sum8(a, len(a))
func SumTooLong(a []float64) float64

//fastc:call r_sum(n, len(n))
func LenOfNumber(n int32) float64

//fastc:call r_f64(len(a))
func LenAsFloat(a []float64) float64

//fastc:call r_write(s, len(s))
func Write(s string)

//fastc:call r_longs(s)
func Longs(s string)

//fastc:call r_unsigned(x, len(x))
func Signed(x []int32)

//fastc:call r_scale(x, len(x))
func ScaleCopy(x [4]float32)

//fastc:call r_strings(s, len(s))
func Strings(s []string)

//fastc:call r_mid(a, b)
func MidByPointer(a, b *Point) Point

//fastc:call r_move(p)
func MoveByValue(p Point)

//fastc:call r_close(h)
func CloseValue(h Hidden) int32

//fastc:call r_close(h)
func CloseSlice(h []Hidden) int32

//fastc:call r_close(h)
func CloseError(h error) int32

//fastc:call r_move(p)
func MoveHidden(p *Hidden)

//fastc:call r_make(id)
func MakePoint(id int32) Point

//fastc:call r_i32(a)
func Unknown(a Unknowable) int32

//fastc:call r_i32(a)
func FromElsewhere(a Table) int32

//fastc:call r_i32(a)
func UnknownResult(a int32) Unknowable

// Out parameters.

//fastc:call r_out(&a, &b)
func Out() (a int32, b float32, ret int32)

//fastc:call r_in(&a)
func OutConst() (a, ret int32)

//fastc:call r_i32(&a)
func OutNumber() (a, ret int32)

//fastc:call r_out(&a, &a)
func OutTwice() (a, ret int32)

//fastc:call r_openp(&h)
func OutPointer() (h *Point, ret int32)

//fastc:call r_openp(&h)
func OutHandle() (h uint64, ret int32)

//fastc:call r_fixed(&s)
func OutSlice() (s []int32)

//fastc:call r_fixed(&s)
func OutArray() (s [4]int64)

//fastc:call r_fixed(&s)
func OutUnknown() (s Unknowable)

// Literals.

//fastc:call r_i8(128)
func TooBig() int8

//fastc:call r_u32(-1)
func Negative() uint32

//fastc:call r_i32(1.5)
func Fraction() int32

//fastc:call r_i32(true)
func True() int32

//fastc:call r_bool(1)
func One() bool

//fastc:call r_i32(nil)
func Nil() int32

//fastc:call r_char(200)
func CharBig() int8

//fastc:call r_u64(99999999999999999999)
func Huge() uint64

//fastc:call r_move(C.R_A)
func ConstantPointer()

//fastc:call r_mid(C.R_A, p)
func ConstantStruct(p Point) Point

// Arrays.

//fastc:call r_grid(m)
func Grid(m *[2][3]float64) float64

//fastc:call r_lanes(v)
func Lanes(v *[4]float32) float32

// Strings that nothing ends, bytes that are none, types without names.

//fastc:call r_text(s)
func Text(s string)

//fastc:call r_bytes(p, len(p))
func Bytes(p []float64) float64

//fastc:call r_bytes(p, len(p))
func BytesOfArray(p *[4]uint16) float64

//fastc:call r_nameless(a)
func Nameless(a int32) uint32

//fastc:call r_nameless_struct(nil)
func NamelessStruct() int32

//fastc:call r_atomic(a)
func Atomic(a *int32) int32

//fastc:call r_f64(1e400)
func Infinite() float64

//fastc:call r_f32(1e39)
func InfiniteFloat() float32
