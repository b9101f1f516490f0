// Command plain is an ordinary program that calls fastc.
package main

import (
	"fmt"

	"evenkeel.dev/fastc/testdata/check"
)

func main() { fmt.Println(check.JSON()) }
