-- SPDX-License-Identifier: BSL-1.0
--
-- Copy this beside slurm.conf, and put JobSubmitPlugins=lua into that: every job of a governed partition is held on
-- submission, until allot-slurm releases it. Users can't release their jobs themselves, nor make them larger or charge
-- them to somebody else once they are admitted.

-- The governed partitions, as in the configuration of allot-slurm: {main = true, debug = true}. nil: all of them.
local governed = nil

-- Who may release and alter jobs of others: root, and the user that allot-slurm runs as. 64030 is Debian's slurm.
local operators = {[0] = true, [64030] = true}

local function is_governed(partitions, part_list)
  if governed == nil then
    return true
  end
  if partitions == nil then
    for name, part in pairs(part_list) do
      if part.flag_default ~= 0 and governed[name] then
        return true
      end
    end
    return false
  end
  for name in string.gmatch(partitions, "[^,]+") do
    if governed[name] then
      return true
    end
  end
  return false
end

local function refuse(what)
  slurm.log_user(what)
  return slurm.ERROR
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  if is_governed(job_desc.partition, part_list) then
    job_desc.priority = 0
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if operators[modify_uid] or not is_governed(job_rec.partition, part_list) then
    return slurm.SUCCESS
  end
  if job_desc.priority ~= slurm.NO_VAL then
    return refuse("allot-slurm releases jobs, and holds them: scontrol show job says why this one waits")
  end
  -- The partition that a job is moved to may be one that nobody governs.
  if job_desc.partition ~= nil and not is_governed(job_desc.partition, part_list) then
    return refuse("a job can't be moved to a partition that allot-slurm doesn't govern: submit it there")
  end
  local is_admitted = job_rec.priority ~= 0
  if is_admitted and (job_desc.account ~= nil or job_desc.partition ~= nil or job_desc.qos ~= nil) then
    return refuse("the job is admitted: its account, partition and QOS stay as they are")
  end
  local asks = job_desc.tres_per_node or job_desc.tres_per_job or job_desc.tres_per_socket or job_desc.tres_per_task or
                   job_desc.gres
  local grows = job_desc.min_nodes ~= nil and job_desc.min_nodes ~= slurm.NO_VAL and job_rec.min_nodes ~= nil and
                    job_desc.min_nodes > job_rec.min_nodes
  if is_admitted and (asks or grows) then
    return refuse("the job is admitted: cancel it, and submit it with the other request")
  end
  return slurm.SUCCESS
end
