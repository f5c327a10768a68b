-- SPDX-License-Identifier: BSL-1.0
-- Holds every job, and lets only root change a priority.
function slurm_job_submit(job_desc, part_list, submit_uid)
  job_desc.priority = 0
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if modify_uid ~= 0 and job_desc.priority ~= slurm.NO_VAL then
    slurm.log_user("held jobs are released by allot-slurm")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end
