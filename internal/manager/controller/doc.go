// Package controller runs the operator: it watches, and for each Cluster reads
// the state, decides, and writes, in that order:
//
//	read.go      caches, and live the infrastructure object → state
//	decide.go    state → decision, pure; the resolving is package resolve's
//	outcome.go   decision → what is due; answers of the API server → outcome; pure
//	write.go     writes what is due (package apply), then the ProxyReport
//	conclude.go  decision and outcome → status of the ProxyReport, pure
//
// There is one root kind, the Cluster; everything else that is watched maps to
// the Clusters it concerns (watch.go). The status of a CorporateProxy is a small
// controller of its own (corporateproxy.go), and so is replacing outdated machines
// (rollout.go, what it decides is in internal/core/rollout).
package controller
