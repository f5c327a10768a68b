-- SPDX-License-Identifier: BSL-1.0
--
-- Copy this beside slurm.conf, and put JobSubmitPlugins=lua into that: every job of a governed partition is held on
-- submission, until allot-slurm releases it. Users can't release their jobs themselves, nor make them larger or charge
-- them to somebody else once they are admitted. They can hold a job that waits, and let it wait again, as can operators:
-- allot-slurm knows by a mark that such a job's turn doesn't come. In Slurm all that waits is held.

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

-- Everything of allot-slurm's begins so; it sets an AdminComment whenever it holds or releases.
local allot = "allot: "
-- Users may set comments, and only operators AdminComments.
local by_user = allot .. "held by its user"
local by_operator = allot .. "held by an operator"
local by_force = allot .. "started by force"
local let_go_by_user = allot .. "released by its user"
local let_go_by_operator = allot .. "released by an operator"
-- Until allot-slurm says more.
local not_explained = allot .. "waits for its turn"

local function begins_with(text, start)
  return text ~= nil and string.sub(text, 1, #start) == start
end

-- What is the user's own of a comment: all of it, none, or what follows the mark.
local function own_part(comment)
  if begins_with(comment, by_user .. "; ") then
    return string.sub(comment, #by_user + 3)
  end
  return begins_with(comment, allot) and "" or comment or ""
end

local function marked(comment)
  local own = own_part(comment)
  return own == "" and by_user or by_user .. "; " .. own
end

-- A comment can be replaced, but not removed.
local function unmarked(comment, let_go)
  local own = own_part(comment)
  return own == "" and let_go or own
end

-- A component of a heterogeneous job, other than the first. A change of the job by its id comes here once for the first
-- component, and then, as this file has left it, for each of the others.
local function follows(job_rec)
  return (job_rec.het_job_offset or 0) > 0
end

-- An AdminComment that also keeps the nodes of the one before.
local function with_nodes_of(old, new)
  if not begins_with(old, allot) then
    return new
  end
  return new .. (string.match(old, " pinned to .*$") or string.match(old, " avoiding .*$") or "")
end

-- The text is for the log: on a modification Slurm has no way to show it to the user.
local function refuse(what)
  slurm.log_info("%s", what)
  return slurm.ESLURM_ACCESS_DENIED
end

local function operator_modifies(job_desc, job_rec)
  -- What runs can't be held: Slurm refuses that.
  if job_rec.job_state % 256 ~= 0 then
    return slurm.SUCCESS
  end
  if follows(job_rec) then
    for _, done in ipairs({by_operator, let_go_by_operator}) do
      if begins_with(job_desc.admin_comment, done) then
        job_desc.admin_comment = with_nodes_of(job_rec.admin_comment, done)
        return slurm.SUCCESS
      end
    end
    if begins_with(job_desc.comment, let_go_by_operator) then
      return slurm.SUCCESS
    end
  end
  local user_holds = begins_with(job_rec.comment, by_user)
  local operator_holds = begins_with(job_rec.admin_comment, by_operator)
  local releases = job_desc.priority ~= slurm.NO_VAL and job_desc.priority ~= 0
  if begins_with(job_desc.admin_comment, by_force) then
    if user_holds then
      job_desc.comment = unmarked(job_rec.comment, let_go_by_operator)
    end
    return slurm.SUCCESS
  end
  if begins_with(job_desc.admin_comment, allot) or begins_with(job_desc.comment, allot) then
    -- The governor, which may not have seen the mark yet.
    if releases and (user_holds or operator_holds) then
      return refuse("allot-slurm does not release what somebody has just held")
    end
    if user_holds and job_desc.comment ~= nil then
      job_desc.comment = job_rec.comment
    end
    if operator_holds and job_desc.admin_comment ~= nil then
      job_desc.admin_comment = job_rec.admin_comment
    end
    return slurm.SUCCESS
  end
  if job_desc.priority == 0 then
    job_desc.admin_comment = with_nodes_of(job_rec.admin_comment, by_operator)
  elseif releases and (user_holds or operator_holds) then
    -- It waits again; when it starts is for the governor to decide.
    job_desc.priority = slurm.NO_VAL
    if user_holds then
      job_desc.comment = unmarked(job_rec.comment, let_go_by_operator)
    end
    if operator_holds then
      job_desc.admin_comment = with_nodes_of(job_rec.admin_comment, let_go_by_operator)
    end
  end
  return slurm.SUCCESS
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  if is_governed(job_desc.partition, part_list) then
    local is_held = job_desc.priority == 0
    if is_held then
      job_desc.comment = marked(job_desc.comment)
    elseif own_part(job_desc.comment) == "" then
      job_desc.comment = not_explained
    end
    job_desc.admin_comment = not_explained
    job_desc.priority = 0
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if not is_governed(job_rec.partition, part_list) then
    return slurm.SUCCESS
  end
  if operators[modify_uid] then
    return operator_modifies(job_desc, job_rec)
  end
  local is_admitted = job_rec.priority ~= 0
  local user_holds = not is_admitted and begins_with(job_rec.comment, by_user)
  if job_desc.priority == 0 then
    if is_admitted then
      return refuse("a job that is admitted can't be held any more")
    end
    job_desc.comment = marked(job_desc.comment or job_rec.comment)
  elseif job_desc.priority ~= slurm.NO_VAL then
    if not user_holds then
      return refuse("only allot-slurm releases jobs: scontrol show job says why this one waits")
    end
    job_desc.priority = slurm.NO_VAL
    job_desc.comment = unmarked(job_desc.comment or job_rec.comment, let_go_by_user)
  elseif user_holds and job_desc.comment ~= nil and not follows(job_rec) then
    job_desc.comment = marked(job_desc.comment)
  end
  -- The partition that a job is moved to may be one that nobody governs.
  if job_desc.partition ~= nil and not is_governed(job_desc.partition, part_list) then
    return refuse("a job can't be moved to a partition that allot-slurm doesn't govern: submit it there")
  end
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
