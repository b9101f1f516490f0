module gen

go 1.21
