package main

import (
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"fmt"
	"strings"
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

// undefined returns the symbols that an object file takes from others.
func undefined(name string) ([]string, error) {
	var list []string
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		symbols, err := f.Symbols()
		for _, s := range symbols {
			if s.Section == elf.SHN_UNDEF && s.Name != "" {
				list = append(list, s.Name)
			}
		}
		return list, err
	}
	f, err := macho.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Symtab == nil {
		return nil, nil
	}
	const typeMask, undefinedType = 0x0e, 0
	for _, s := range f.Symtab.Syms {
		if s.Type&typeMask == undefinedType {
			list = append(list, strings.TrimPrefix(s.Name, "_"))
		}
	}
	return list, nil
}
