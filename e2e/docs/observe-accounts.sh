#!/usr/bin/env bash
# For docs/how-to/rotation.md: writes what fairlead-observe would, once all clusters have the second account and nobody uses
# the first.
set -euo pipefail

fairlead rollout status corp --watch --timeout 2m
current=$(kubectl get corporateproxy corp --output jsonpath='{.status.credentials[0].fingerprint}')
sleep 9 # two periods of observation after the last revision
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
for report in $(kubectl get proxyreports --namespace org-acme --output name); do
  kubectl patch "$report" --namespace org-acme --subresource status --type merge \
    --patch '{"status": {"observed": {"time": "'"$now"'", "since": "2026-01-01T00:00:00Z", "period": "5s", "egress": "Verified",
      "credentials": [{"fingerprint": "'"$current"'", "relays": 1}]}}}'
done
