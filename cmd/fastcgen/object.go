package main

import (
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"fmt"
)

// readDWARF reads the debugging information of an object file.
func readDWARF(name string) (*dwarf.Data, error) {
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		return f.DWARF()
	}
	if f, err := macho.Open(name); err == nil {
		defer f.Close()
		return f.DWARF()
	}
	return nil, fmt.Errorf("the C compiler writes objects that are neither ELF nor Mach-O: run fastcgen on Linux, a BSD or macOS")
}
