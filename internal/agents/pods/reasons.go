package pods

// Reasons are all of them, for who chooses among them.
var Reasons = []Reason{
	ReasonStatic, ReasonKube, ReasonExcluded, ReasonOwn, ReasonOwnSource, ReasonNoPolicy, ReasonOlder, ReasonNotReady, ReasonEnded, ReasonNotServed, ReasonUnknown,
}
