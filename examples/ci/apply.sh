#!/bin/sh
# Applies the plan that was approved: the file of plan.sh, if it still has the digest that somebody has seen.
#
# Exit code: 0 all is done; 1 an error, also a request that the API refuses as invalid; 3 the world, the file or the account is not what was reviewed: plan again; 4 a policy denies something;
# 5 steps are left: run it again with the same file.
set -eu
: "${FLEET:=fleet}" "${OUT:=plan}" "${POLICY:=}" "${TIMEOUT:=20m}"
: "${OWNER:?the owner in the marks of this fleet, as for plan.sh}"
: "${FLEETKEEPER_API_URL:?the address of the API: the key is sent to no other one, whatever a document has}"
: "${DIGEST:?the digest that was approved, as plan.sh has written it to plan.digest}"

set -- "$OUT/plan.json" --source "$FLEET" --owner "$OWNER" --plan-digest "$DIGEST" --timeout "$TIMEOUT"
[ -z "$POLICY" ] || set -- "$@" --policy "$POLICY"
exec fleetkeeper apply "$@"
