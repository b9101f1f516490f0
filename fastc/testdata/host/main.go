// Command host loads the plugin that its argument names, and knows nothing of fastc itself.
package main

import (
	"fmt"
	"os"
	"plugin"
)

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	f, err := p.Lookup("JSON")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(f.(func() string)())
}
