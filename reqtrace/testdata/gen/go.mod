module gen

go 1.22
