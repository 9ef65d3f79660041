-- The failed revision is tried again. The number is that of the attempt that failed.
local rollout = (obj.status or {}).rollout
if rollout == nil then
  error("no revision has failed")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["fleetkeeper.dev/command"] = "retry@" .. rollout.revision .. "#" .. rollout.attempt
return obj
