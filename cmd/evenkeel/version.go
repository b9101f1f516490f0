package main

import (
	"context"
	"fmt"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

const versionHelp = `
evenkeel version [-json]

Prints the version of evenkeel, or the commit that it was built from.
`

func runVersion(_ context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("version", versionHelp)
	asJSON := fs.Bool("json", false, "print JSON, with the machine")
	operands, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return a.Wrong(fs, "what is %q?", operands[0])
	}
	if !*asJSON {
		_, err := fmt.Fprintln(a.Stdout, runfile.Tool())
		return err
	}
	return cli.WriteJSON(a.Stdout, struct {
		Tool    string          `json:"tool"`
		Machine runfile.Machine `json:"machine"`
	}{runfile.Tool(), runfile.ThisMachine()})
}
