// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: the reference GPU inventory. Declared only, and without
// default template arguments.

#include <cstdint>

namespace allot {
inline namespace v0 {

namespace gpu {

struct all_alike;
class any_placement;
struct best_fit;
class cluster;
struct clustering_score;
class domain_range;
struct domain_spec;
struct dot_product_score;
class fragmentation;
class free_index;
struct gang_group;
enum class gang_obstacle : std::uint8_t;
struct gang_place;
class gang_planner;
struct gang_request;
struct gang_share;
struct gang_shortage;
class gradient_score;
class host_nodes;
class indexed_best_fit;
struct label;
struct least_left;
class lifetime_alignment;
class mig_device;
enum class mig_model : std::uint8_t;
enum class mig_obstacle : std::uint8_t;
struct mig_profile;
struct mig_refusal;
struct most_free;
struct node_fill;
struct node_spec;
struct node_type;
enum class obstacle : std::uint8_t;
struct outage;
struct packing_score;
struct placed_pod;
enum class placement_name : std::uint8_t;
struct pod_location;
struct pod_request;
struct pod_set;
class pod_set_list;
struct pod_shape;
struct pod_split;
class pools_by_option;
class random_fit;
class room_counter;
struct run_estimate;
class seen_pods;
class topology;
struct topology_edge;
class topology_graph;
struct topology_options;
struct topology_spec;
struct typical_pod;
class typical_pods;
struct unplaceable;
struct vector_best_fit_score;

}  // namespace gpu

}  // namespace v0
}  // namespace allot
