//go:build fastcgen

// Package vec calls a little C library.
package vec

/*
#cgo CFLAGS: -O2 -Wall -Wextra -Werror
#include "vec.h"

static inline int v_inline(int a) { return a * 3; }
*/
import "C"

// Mode says how.
type Mode C.enum_v_mode

type Sign C.enum_v_sign

// Point is a place in the plane.
type Point C.struct_v_point

// Item has a field of each kind.
type Item C.v_item

type Range C.struct_v_range

// Nest holds structs.
type Nest C.struct_v_nest

// Ctx is C's own.
type Ctx C.v_ctx

// Dot returns the dot product of a and b.
//
//fastc:call v_dot(a, b, len(a))
//fastc:require len(b) >= len(a)
//fastc:slow len(a) > 4096
//fastc:yield len(a) > 1024
func Dot(a, b []float64) float64

// Divide returns the quotient and the remainder of a and b.
//
//fastc:call v_div(a, b, &q, &r)
//fastc:fails ret < 0
//fastc:budget 300us
//fastc:yield
func Divide(a, b int32) (q, r int32, err error)

//fastc:call v_i8(a)
func I8(a int8) int8

//fastc:call v_i16(a)
func I16(a int16) int16

// Sum adds eight numbers.
//
//fastc:call v_sum(a, b, c, d, e, f, g, h)
func Sum(a int8, b int16, c int32, d int64, e byte, f uint16, g uint32, h uint64) int64

//fastc:call v_word(a, b, c, d)
func Word(a uint, b int, c int64, d uintptr) uint64

//fastc:call v_half(x)
func Half(x float32) float32

//fastc:call v_not(b)
func Not(b bool) bool

//fastc:call v_flip(m)
//fastc:budget
func Flip(m Mode) Mode

//fastc:call v_signum(x)
func Signum(x int32) Sign

//fastc:call v_signum(x)
func SignumInt(x int32) int32

//fastc:call v_upper(c)
func Upper(c byte) byte

// Count counts a byte in s.
//
//fastc:call v_count(s, len(s), c)
func Count(s string, c int8) uint

//fastc:call v_count(s, len(s), c)
func CountText(s string, c byte) uint64

//fastc:call v_trace(m)
func Trace(m *[2][2]float64) float64

//fastc:call v_copy(to, from, len(to))
//fastc:require len(from) >= len(to) && len(to) < 1<<20 || len(to) == 0
//fastc:require cap(to) > 0
func Copy(to, from []byte)

//fastc:call v_bytes(p, len(p))
func Bytes(p []byte) uint32

//fastc:call v_bytes(p, len(p))
func ByteSum(p []byte) (n uint32, err error)

//fastc:call v_scale(x, len(x), by)
func Scale(x []float32, by float32)

//fastc:call v_incr(x)
func Incr(x *int64)

//fastc:call v_rotate(x)
func Rotate(x *[4]int32)

//fastc:call v_max4(x)
func Max4(x [4]int32) int32

//fastc:call v_mid(a, b)
func Mid(a, b Point) Point

//fastc:call v_move(p, dx, 0.5)
func Move(p *Point, dx float64)

//fastc:call v_path(p, len(p))
//fastc:require len(p) <= maxPath
func Path(p []Point) float64

//fastc:call v_make(id, C.V_FAST)
func Make(id int32) Item

//fastc:call v_check(i)
func Check(i *Item) int32

//fastc:call v_nested(n)
func Nested(n Nest) Nest

//fastc:call v_digest(p, len(p), &sum)
//fastc:writes sum V_STATES + 1
func Digest(p []byte) (sum [4]byte)

//fastc:call v_box(p, len(p), &lo, &hi)
//fastc:require len(p) > 0
func Box(p []Point) (lo, hi Point, err error)

//fastc:call v_new(start)
//fastc:slow
func New(start int32) *Ctx

//fastc:call v_open(&c, start)
//fastc:fails ret != 0
func Open(start int32) (c *Ctx, err error)

//fastc:call v_next(c)
func Next(c *Ctx) int32

//fastc:call v_free(c)
func Free(c *Ctx)

//fastc:call v_nop()
func Nop()

//fastc:call v_last(n)
//fastc:fails errno != 0
func Last(n int32) error

//fastc:call v_state(&s)
func State() (s [4]uint32)

// Trim begins with what its results are given.
//
//fastc:call v_trim(s, &n, &cut, &at, &row, &next)
//fastc:inout n = len(s)
//fastc:inout cut = false
//fastc:inout at = from
//fastc:inout row = begin
//fastc:inout next = c
//fastc:fails ret < 0
func Trim(s []byte, from Point, begin [2]int16, c *Ctx) (n uint64, cut bool, at Point, row [2]int16, next *Ctx, err error)

// TrimLimit begins with a constant of C.
//
//fastc:call v_trim(s, &n, &cut, &at, &row, &next)
//fastc:inout n = C.V_FAST
//fastc:inout next = C.V_CTX
//fastc:inout cut = was
//fastc:require len(s) >= C.V_FAST
func TrimLimit(s []byte, was bool) (ret int32, n uint64, cut bool, at Point, row [2]int16, next *Ctx)

// Name is the name of a mode.
//
//fastc:call v_name(m)
//fastc:copy
func Name(m Mode) string

//fastc:call v_word_of(n)
//fastc:copy
//fastc:fails ret == 0
func WordOf(n int32) (string, error)

//fastc:call v_fill(x, len(x), -3, true, 1.5, nil)
func Fill(x []int32) int32

//fastc:call v_fill(x, len(x), v, false, 2, nil)
//fastc:require v <= C.V_LIMIT
func FillMost(x []int32, v int32) int32

//fastc:call v_noerrno(x)
//fastc:fails ret != 0
func NoErrno(x int32) error

// Root returns the square root of x.
//
//fastc:call v_root(x)
//fastc:fails errno != 0
func Root(x float64) (float64, error)

//fastc:call v_select(f, nil)
func Select(f int32) int32

//fastc:call v_inline(a)
func Inline(a int32) int32

// Fixed has a member that C does not assign.
type Fixed C.struct_v_fixed

//fastc:call v_fixed(k)
func MakeFixed(k int32) Fixed

//fastc:call v_fixed(k)
//fastc:fails ret.k < 0
func MakePositive(k int32) (Fixed, error)

// Handle is a pointer in C, and 1.
type Handle C.v_handle

//fastc:call v_handle_one()
func HandleOne() *Handle

//fastc:call v_handle_out(&h)
func HandleOut() (h *Handle)

//fastc:call v_handle_use(h)
func HandleUse(h *Handle) int64

//fastc:call v_handle_use(h)
//fastc:budget
func HandleMeasured(h *Handle) int64

//fastc:call v_handle_use(h)
//fastc:slow
func HandleSlow(h *Handle) int64

//fastc:call v_wide(a)
func Wide(a int64) int64

//fastc:call v_select(C.f, nil)
//fastc:fails ret != 3
func EnumF() error

//fastc:call v_select(C.frame, nil)
func EnumFrame() int32

//fastc:call v_select(C.ret, nil)
//fastc:fails ret != 5
func EnumRet() error

//fastc:call v_u64(18446744073709551615)
func MostUnsigned() uint64

//fastc:call v_s64(-9223372036854775808)
func LeastSigned() int64

//fastc:call v_same(99999999999999999999)
func Nines() float64

//fastc:call v_same(-0x1_0000_0000_0000_0000)
func Float64() float64
