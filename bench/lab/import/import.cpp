// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/import/import.hpp"

#include "lab/import/file_kind.hpp"
#include "lab/import/import_trace.hpp"
#include "lab/import/kubernetes.hpp"
#include "lab/io/errors.hpp"

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using importer = int (*)(packed_input&, import_log&, const import_options&);

struct named_importer {
  import_format format;
  importer run;
  bool reads_json = false;
};

template <scenario_maker Make>
int import_made(packed_input& file, import_log& log, const import_options& options) {
  return import_objects(file, log, options, Make);
}

const vector<named_importer>& importers() {
  static const vector<named_importer> all = {
      {{"philly", "Microsoft 2017: cluster_job_log (JSON), or timestamp,duration,num_gpus,gpu_time,cluster"},
       import_philly,
       true},
      {{"helios", "SenseTime 2020: job_id,user,vc,gpu_num,cpu_num,...,submit_time,...,duration"},
       import_helios},
      {{"acme", "Shanghai AI Laboratory 2023: as helios, with type and without vc"}, import_acme},
      {{"pai", "Alibaba's PAI simulator 2020: job_id,num_inst,submit_time,num_cpu,num_gpu,..."}, import_pai},
      {{"spot", "Alibaba 2026: job_name,organization,...,worker_num,submit_time,duration,job_type"},
       import_spot},
      {{"openb", "Alibaba 2023 (FGD): a list of pods, or of nodes, which becomes a scenario"}, import_openb},
      {{"swf", "Standard Workload Format 2.2"}, import_swf},
      {{"sacct",
        "Slurm's accounting: SLURM_TIME_FORMAT=%s sacct -aDP "
        "--format=JobID,User,Account,Submit,Eligible,Start,ElapsedRaw,Timelimit,ReqTRES,AllocTRES,State; or "
        "sacct "
        "-aD --json"},
       import_sacct,
       true},
      {{"csv", "any table; --map says which column is what"}, import_csv},
      {{"gavel", "Gavel 2020 and Shockwave 2023: job_type, command, ... with tabs; --throughputs FILE"},
       import_gavel},
      {{"nodes",
        "any table of nodes, which becomes a scenario: sn,cpu_milli,memory_mib,gpu,model; "
        "machine,gpu_type,cap_cpu,cap_mem,cap_gpu; ip,DSW,PSW,ASW"},
       import_nodes},
      {{"kueue",
        "Kueue's objects, as kubectl get "
        "clusterqueues,cohorts,workloads,localqueues,resourceflavors,topologies,namespaces -A -o json prints "
        "them"},
       import_made<make_kueue_scenario>,
       true},
      {{"kai", "KAI's objects, as kubectl get queues,podgroups,pods,nodes -A -o json prints them"},
       import_made<make_kai_scenario>,
       true},
      {{"kubernetes",
        "any cluster, as kubectl get nodes,pods,jobs,priorityclasses,resourcequotas -A -o json prints it"},
       import_made<make_kubernetes_scenario>,
       true},
      {{"hived", "HiveD's configuration: physicalCluster and virtualClusters"},
       import_made<make_hived_scenario>,
       true},
  };
  return all;
}

}  // namespace

const vector<import_format>& import_formats() {
  static const vector<import_format> all = [] {
    vector<import_format> formats;
    for (const named_importer& i : importers()) formats.push_back(i.format);
    return formats;
  }();
  return all;
}

int run_import(const import_options& options) {
  const auto& all = importers();
  const auto chosen = std::find_if(all.begin(), all.end(),
                                   [&](const named_importer& i) { return i.format.name == options.format; });
  if (chosen == all.end()) {
    std::string names;
    for (const named_importer& i : all) names.append(names.empty() ? "" : ", ").append(i.format.name);
    return complain("there is no format \"" + options.format + "\" (expected " + names + ')', "allot import");
  }
  const auto is = [&](std::string_view format) { return options.format == format; };
  const auto refuse = [&](std::string_view those, std::string_view format) {
    return complain(
        std::string{those}.append(" of the format ").append(format).append(", not of " + options.format),
        "allot import");
  };
  const bool has_columns = !options.columns.empty() || options.separator != ",";
  const bool may_have_columns = is("csv") || is("sacct") || (is("nodes") && options.separator == ",");
  if ((!is("csv") && !options.map.empty()) || (!may_have_columns && has_columns))
    return refuse("--map, --columns and --separator are options", "csv");
  if (!is("gavel") && (!options.throughputs.empty() || !options.gpu_model.empty()))
    return refuse("--throughputs and --gpu-model are options", "gavel");
  if (!is("nodes") && (!options.topology.empty() || options.gpus >= 0))
    return refuse("--topology and --gpus are options", "nodes");
  if (!is("sacct") && (!options.time_format.empty() || options.shards != 0 || options.mps != 0))
    return refuse("--time-format, --shards and --mps are options", "sacct");
  if (!is("kubernetes") && (!options.gpu_resources.empty() || !options.quotas.empty()))
    return refuse("--gpu-resource and --quotas are options", "kubernetes");
  if (!is("kueue") && !options.quota_check_strategy.empty())
    return refuse("--quota-check-strategy is an option", "kueue");
  import_log log{shown_path(options.file), options.shown};
  packed_input file{options.file};
  if (!file.problem().empty()) {
    log.fail({}, file.problem());
    return bad_input_status;
  }
  constexpr std::size_t enough = std::size_t{1} << 14U;
  const file_look look = look_of(file.peek(enough));
  const std::string looks = "the file looks like " + look.what;
  if (look.kind == file_kind::other || (look.kind == file_kind::json && !chosen->reads_json)) {
    log.fail({}, looks + ", which the format " + options.format + " is not");
    return bad_input_status;
  }
  const int status = chosen->run(file, log, options);
  // What the file is tells more than what is wrong with it, unless that is what the format reads.
  const bool is_own = look.what.find("allot import " + options.format) != std::string_view::npos ||
                      (look.kind == file_kind::json && look.what.find("allot") == std::string_view::npos);
  if (status != 0 && !look.what.empty() && !is_own) log.fail({}, looks);
  return status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
