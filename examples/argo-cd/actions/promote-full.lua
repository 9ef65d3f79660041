-- Ends all steps of the rollout.
local rollout = (obj.status or {}).rollout
if rollout == nil or rollout.step == nil then
  error("no step of a rollout is under way")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["fleetkeeper.dev/command"] = "promote-full@" .. rollout.revision .. "#" .. rollout.step
return obj
