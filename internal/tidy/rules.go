package tidy

// Rule is one rule of the house, under the name by which the test runs it.
type Rule struct {
	Name   string
	Number int // of the rule in CONTRIBUTING.md that it holds
	Check  func(*Tree) []Finding
}

// Rules are all the rules, in the order in which the test runs them.
var Rules = []Rule{
	{"arrows", 1, CheckArrows},
	{"needed", 1, CheckNeeded},
	{"modules", 1, CheckModules},
	{"docs", 2, CheckDocs},
	{"options", 3, CheckOptions},
	{"library", 4, CheckLibraries},
	{"lowlevel", 6, CheckLowLevel},
	{"size", 7, CheckSize},
	{"readme", 7, CheckReadme},
	{"tests", 8, CheckTests},
	{"syntax", 11, CheckSyntax},
	{"links", 11, CheckLinks},
	{"paths", 11, CheckPaths},
}
