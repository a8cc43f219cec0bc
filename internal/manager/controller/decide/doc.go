// Package decide decides for one Cluster what its Secrets and its ProxyReport are to be. It is pure, and sends no request:
//
//	state.go     everything that a decision is made from
//	decide.go    state → decision; the resolving is package resolve's
//	outcome.go   decision → what is due; answers of the API server → outcome
//	conclude.go  decision and outcome → status of the ProxyReport
package decide
