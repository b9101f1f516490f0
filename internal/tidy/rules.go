package tidy

// Rule is one rule of the house, under the name by which the test runs it.
type Rule struct {
	Name  string
	Check func(*Tree) []Finding
}

// Rules are all the rules, in the order in which the test runs them.
var Rules = []Rule{
	{"syntax", CheckSyntax},
	{"arrows", CheckArrows},
	{"lowlevel", CheckLowLevel},
	{"modules", CheckModules},
	{"docs", CheckDocs},
	{"options", CheckOptions},
	{"library", CheckLibraries},
	{"tests", CheckTests},
	{"readme", CheckReadme},
	{"paths", CheckPaths},
	{"links", CheckLinks},
	{"size", CheckSize},
}
