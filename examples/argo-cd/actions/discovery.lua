-- Which actions can be taken, from the rollout in the status. Fleetkeeper decides again when it carries one out.
local status = obj.status or {}
local rollout = status.rollout or {}
local isCurrent = (status.observedGeneration or 0) >= (obj.metadata.generation or 1)
local phase = rollout.phase

local isFailed = false
for _, revision in ipairs(status.revisions or {}) do
  if revision.name == rollout.revision and revision.outcome == "Failed" then
    isFailed = true
  end
end

local isActive = phase == "Progressing" or phase == "Paused" or phase == "Analysing"
local isFrozen = phase == "Frozen"
local hasStep = isActive and rollout.step ~= nil
local mayRetry = isFailed and (isFrozen or phase == "RollingBack" or phase == "RolledBack")

local actions = {}
actions["promote"] = { ["disabled"] = not (isCurrent and hasStep) }
actions["promote-full"] = { ["disabled"] = not (isCurrent and hasStep) }
actions["abort"] = { ["disabled"] = not (isCurrent and isActive) }
actions["freeze"] = { ["disabled"] = not (isCurrent and isActive) }
actions["thaw"] = { ["disabled"] = not (isCurrent and isFrozen and not isFailed) }
actions["retry"] = { ["disabled"] = not (isCurrent and mayRetry) }
return actions
