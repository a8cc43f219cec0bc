#!/bin/sh
# Renders and lints every cluster of every installation. It asks no cluster. Exit status 1: something is wrong, and the
# output says in which file and field. FAIL_ON=Warning is stricter. With BASE, a git revision or a folder with a
# copy of this one, it also writes what the changes since then do to each cluster into plan.md, and holds the new lists
# against must-hold.json, if there is one.
set -u
cd "$(dirname "$0")" || exit 1
status=0
for installation in installations/*/; do
	echo "$installation"
	set -- --values "${installation}secret-values.yaml.patch"
	for file in "$installation"clusters/*.yaml; do set -- "$@" --cluster "$file"; done
	for file in "$installation"overrides/*.yaml; do [ ! -e "$file" ] || set -- "$@" --override "$file"; done
	fairlead lint "$@" --fail-on "${FAIL_ON:-Error}" 2>&1 || status=1
	fairlead render "$@" 2>&1 >/dev/null || status=1 # what it prints has the password
done
if [ -n "${BASE:-}" ]; then
	set -- --from "$BASE" installations
	[ ! -d "$BASE" ] || set -- "$BASE/installations" installations
	[ ! -e must-hold.json ] || set -- "$@" --expect must-hold.json
	fairlead plan "$@" -o markdown >plan.md
	case $? in
	0 | 1) ;; # no change, or one
	3) echo "plan.md: an expectation is not met" && status=1 ;;
	*) status=1 ;;
	esac
fi
exit $status
