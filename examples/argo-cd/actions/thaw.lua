-- A frozen rollout continues.
local rollout = (obj.status or {}).rollout
if rollout == nil then
  error("no rollout is frozen")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["fleetkeeper.dev/command"] = "thaw@" .. rollout.revision
return obj
