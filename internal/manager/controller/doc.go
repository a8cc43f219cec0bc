// Package controller puts the operator together: its caches, its metrics, and a package for each thing that it decides. Each
// imports only those below it:
//
//	cluster         for each Cluster: reads the state, has it decided, and writes
//	corporateproxy  the status of each CorporateProxy
//	waves           which revision each cluster is to have, with spec.rollout
//	machines        when outdated machines are replaced (internal/core/rollout decides)
//	decide          state → Secrets and report; pure
//	settings        what CorporateProxies say now, and what they said in each revision
//	findings        what lint finds, as statuses say it
//	machinery       what all controllers do alike
//
// There is one root kind, the Cluster; everything else that is watched maps to the Clusters it concerns.
package controller
