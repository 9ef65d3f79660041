# For conftest: rules about the output of `fleetkeeper plan --output json` (schemas/plan-v1.json).
package main

import rego.v1

deny contains message if {
	some change in input.changes
	change.namespace == "production"
	change.action in {"delete", "replace"}
	message := sprintf("%s %s/%s: %s needs an exception", [change.kind, change.namespace, change.name, change.action])
}

deny contains message if {
	some change in input.changes
	change.destroysData
	message := sprintf("%s %s/%s: its data would be deleted", [change.kind, change.namespace, change.name])
}

warn contains message if {
	input.cost.deltaHourlyMicros > 5000000
	message := sprintf("%v more micro-USD per hour", [input.cost.deltaHourlyMicros])
}
