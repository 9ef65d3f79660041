#!/bin/sh
# Plans a change for review. In $OUT: plan.md, the comment; plan.json, the file that apply.sh applies; plan.digest, its digest.
#
# Exit code: 0 there are changes, or none; 1 an error, also in a document; 4 a policy denies something. Comment in any case.
set -eu
: "${FLEET:=fleet}" "${NAME:=fleet}" "${OUT:=plan}" "${POLICY:=}"
: "${OWNER:?the owner in the marks of this fleet, the same in each run, wherever the folder is}"
: "${FLEETKEEPER_API_URL:?the address of the API: the key is sent to no other one, whatever a document has}"

mkdir -p "$OUT"
set -- --source "$FLEET" --owner "$OWNER" --out "$OUT/plan.json" --output markdown --name "$NAME"
[ -z "$POLICY" ] || set -- "$@" --policy "$POLICY"
code=0
fleetkeeper plan "$@" > "$OUT/plan.md" 2> "$OUT/plan.log" || code=$?
cat "$OUT/plan.log" >&2
sed -n 's/^plan \(sha256:[0-9a-f]*\)$/\1/p' "$OUT/plan.log" > "$OUT/plan.digest"
# 2: there are changes.
[ "$code" -ne 2 ] || code=0
exit "$code"
