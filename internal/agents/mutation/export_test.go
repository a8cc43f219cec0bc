package mutation

var (
	Foreign   = foreign.String()
	Misplaced = misplaced.String()
)
