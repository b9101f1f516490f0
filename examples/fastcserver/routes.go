//go:build cgo

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/gin-gonic/gin"

	"evenkeel.dev/examples/fastcserver/matrix"
	"evenkeel.dev/fastc"
)

// newHandler returns the service, and which way fastc goes.
func newHandler(stdout, stderr io.Writer) (http.Handler, string, error) {
	if os.Getenv(gin.EnvGinMode) == "" {
		gin.SetMode(gin.ReleaseMode)
	}
	r := gin.New()
	if err := r.SetTrustedProxies(nil); err != nil {
		return nil, "", err
	}
	r.Use(gin.LoggerWithWriter(stdout), gin.RecoveryWithWriter(stderr))
	r.GET("/cgo/:size/:loop", multiply(matrix.MultiplyCgo))
	r.GET("/blockcall/:size/:loop", multiply(matrix.Multiply))
	r.GET("/go/:size/:loop", multiply(matrix.Product))
	r.GET("/yield/:size/:loop", multiply(matrix.MultiplyYielding))
	r.GET("/many/cgo", many(matrix.AddCgo))
	r.GET("/many/fast", many(matrix.Add))
	return r, fastc.Source(), nil
}

type product struct {
	Size  int     `json:"size"`
	Loop  int     `json:"loop"`
	Trace float64 `json:"trace"`
	Sum   float64 `json:"sum"`
}

func multiply(in func(a, b, out []float64, n, loops int)) gin.HandlerFunc {
	return func(c *gin.Context) {
		size, loop, err := work(c.Param("size"), c.Param("loop"))
		if err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		m := matrix.Take(size)
		defer m.Give()
		in(m.A, m.B, m.Out, size, loop)
		c.JSON(http.StatusOK, product{size, loop, matrix.Trace(m.Out, size), matrix.Sum(m.Out, size)})
	}
}

func many(add func(a, b int64) int64) gin.HandlerFunc {
	return func(c *gin.Context) {
		const calls = 1000
		sum := int64(0)
		for i := range int64(calls) {
			sum = add(sum, i)
		}
		c.JSON(http.StatusOK, gin.H{"calls": calls, "sum": sum})
	}
}

const (
	maxLoop = 1000
	maxWork = 1 << 28 // multiplications, a quarter of a second or so
)

func work(size, loop string) (n, loops int, err error) {
	if n, err = number("size", size, matrix.MaxSize); err != nil {
		return 0, 0, err
	}
	if loops, err = number("loop", loop, maxLoop); err != nil {
		return 0, 0, err
	}
	if most := maxWork / (n * n * n); loops > most {
		return 0, 0, fmt.Errorf("size %d leaves loop a range of 1 to %d, as size*size*size*loop is at most %d; it "+
			"is %d", n, most, maxWork, loops)
	}
	return n, loops, nil
}

func number(name, s string, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s is a whole number from 1 to %d, and not %q", name, most, s)
	}
	return n, nil
}
