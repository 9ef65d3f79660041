-- The revision fails, and the replicas return to the one before.
local rollout = (obj.status or {}).rollout
if rollout == nil then
  error("no rollout is under way")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["fleetkeeper.dev/command"] = "abort@" .. rollout.revision
return obj
