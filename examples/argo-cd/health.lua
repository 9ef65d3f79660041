-- The health of every kind of fleetkeeper.dev. The first row that applies counts:
--
--   no conditions, or they are of an earlier generation                   Progressing
--   Stalled is True for another reason than a pause                       Degraded
--   paused by annotation or by somebody else, or in a pause of a rollout  Suspended
--   Reconciling is True                                                   Progressing
--   Ready is True                                                         Healthy
--   anything else                                                         Progressing
local status = obj.status or {}
local generation = obj.metadata.generation or 1
if status.conditions == nil or (status.observedGeneration or 0) < generation then
  return { status = "Progressing", message = "Fleetkeeper has not taken in the document yet" }
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end

local function isTrue(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local function health(result, name)
  local condition = conditions[name] or {}
  local reason = condition.reason or "Unknown"
  local message = condition.message or ""
  if message ~= "" then
    message = ": " .. message
  end
  return { status = result, message = reason .. message }
end

if isTrue("Stalled") and conditions["Stalled"].reason ~= "Paused" then
  return health("Degraded", "Stalled")
end
if isTrue("Stalled") then
  return health("Suspended", "Stalled")
end
if isTrue("Reconciling") and conditions["Reconciling"].reason == "RolloutPaused" then
  return health("Suspended", "Reconciling")
end
local annotations = obj.metadata.annotations or {}
if annotations["fleetkeeper.dev/paused"] == "true" then
  return { status = "Suspended", message = "paused by the annotation fleetkeeper.dev/paused" }
end
if isTrue("Reconciling") then
  return health("Progressing", "Reconciling")
end
if isTrue("Ready") then
  return health("Healthy", "Ready")
end
return health("Progressing", "Ready")
