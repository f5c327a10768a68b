// SPDX-License-Identifier: BSL-1.0
// Numbers where a quota's weight goes, of which nobody can tell whether they are thousandths; see view.cpp.
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>

#include <vector>

using allot::fair_weight;
using allot::gpus;
using allot::quota_id;
using allot::quota_spec;

#ifdef weight_is_a_number
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const quota_spec<> team{.name = "team", .weight = 2};
#elif defined weight_is_a_number_in_braces
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const quota_spec<> team{.name = "team", .weight = {2}};
#elif defined weight_is_a_fraction
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const quota_spec<> team{.name = "team", .weight = {0.5}};
#elif defined weights_are_one_number
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const quota_spec<2> team{.name = "team", .weight = 2};
#elif defined weights_are_numbers
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const quota_spec<2> team{.name = "team", .weight = {2, 1}};
#else
const quota_spec<> team{.name = "team", .weight = fair_weight::whole(2)};
const quota_spec<2> with_cores{.name = "team", .weight = {fair_weight::whole(2), fair_weight::milli(500)}};
#endif

#ifdef weight_is_a_number_in_a_tree
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const auto tree = allot::build_quota_tree<1>({{.name = "lab"}, {.name = "a", .parent = "lab", .weight = 2}});
#elif defined weight_is_a_number_in_a_vector
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
const std::vector<quota_spec<> > specs{{.name = "lab"}, {.name = "a", .parent = "lab", .weight = {2000}}};
#elif defined new_weight_is_a_number
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
allot::reweight_quota<1> change{quota_id{0}, 2};
#else
allot::reweight_quota<1> change{quota_id{0}, fair_weight::whole(2)};
#endif

#ifdef amounts_of_too_many_dimensions
// allot: there must be one value for each dimension, as in resources<2>{gpus(4), gpus(16)}
const quota_spec<2> sized{.name = "team", .nominal = {gpus(1), gpus(2), gpus(3)}};
#elif defined amounts_of_too_few_dimensions
// allot: there must be one value for each dimension, as in resources<2>{gpus(4), gpus(16)}
const allot::resources<3> sized{gpus(1), gpus(2)};
#elif defined amounts_of_too_many_dimensions_in_a_tree
// allot: there must be one value for each dimension, as in resources<2>{gpus(4), gpus(16)}
const auto sized = allot::build_quota_tree<1>({{.name = "a", .nominal = {gpus(1), gpus(2)}}});
#elif defined amount_is_a_number
// allot: a number is no amount: write gpus(4) or quantity::milli(500)
const quota_spec<> sized{.name = "team", .nominal = 4};
#elif defined amount_is_a_number_in_a_tree
// allot: a number is no amount: write gpus(4) or quantity::milli(500)
const auto sized = allot::build_quota_tree<1>({{.name = "a", .nominal = 4}});
#else
const quota_spec<2> sized{.name = "team", .nominal = {gpus(1), {}}};
[[maybe_unused]] const allot::resources<3> of_three{gpus(1), {}, {}};
#endif

#ifdef weight_is_assigned_a_number
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
void set(quota_spec<>& s) {
  s.weight = 2;
}
#elif defined weight_of_a_dimension_is_assigned_a_number
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
void set(quota_spec<2>& s) {
  s.weight[1] = 2;
}
#elif defined weight_is_compared_with_a_number
// allot: a number is no weight: write fair_weight::whole(2) or fair_weight::milli(2000)
bool is_two(const quota_spec<>& s) {
  return s.weight[0] == 2;
}
#endif
