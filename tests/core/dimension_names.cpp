// SPDX-License-Identifier: BSL-1.0
#include <allot/core/dimension_names.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using allot::dimension_names;
using allot::gpus;
using allot::quantity;
using allot::resources;

static_assert(std::regular<dimension_names<2>>);

TEST_CASE("dimension_names: one dimension is gpu, several are numbered until they are named") {
  CHECK(dimension_names<>{}[0] == "gpu");
  CHECK(dimension_names<2>{}[0] == "0");
  CHECK(dimension_names<2>{}[1] == "1");
}

TEST_CASE("dimension_names: names are found, and found by") {
  const dimension_names<3> names{"h100/gpu", "cpu", "memory"};
  CHECK(names[0] == "h100/gpu");
  CHECK(names[2] == "memory");
  CHECK(names.find("cpu") == std::optional<std::size_t>{1});
  CHECK_FALSE(names.find("gpu"));
  CHECK_FALSE(names.find(""));
  CHECK(names.size() == 3);
  CHECK(names == dimension_names<3>{std::vector<std::string>{"h100/gpu", "cpu", "memory"}});
  CHECK(names != dimension_names<3>{});
}

TEST_CASE("dimension_names: any list of names will do, and any number") {
  const dimension_names<3> too_few{"gpu"};
  CHECK(too_few[0] == "gpu");
  CHECK(too_few[1] == "1");
  const dimension_names<2> too_many{"gpu", "", "gpu"};
  CHECK(too_many[0] == "gpu");
  CHECK(too_many[1] == "1");
  CHECK(too_many.find("gpu") == std::optional<std::size_t>{0});
  for (const std::size_t d : {2U, 3U, 70'000U}) CHECK(too_many[d].empty());
  // Of two with the same name the first is used.
  CHECK(dimension_names<2>{"gpu", "gpu"}.find("gpu") == std::optional<std::size_t>{0});
}

TEST_CASE("dimension_names: amounts are written with their names, where there is something of them") {
  const dimension_names<2> names{"h100/gpu", "cpu"};
  CHECK(names.text({gpus(4), quantity::whole(16)}) == "4 h100/gpu, 16 cpu");
  CHECK(names.text({gpus(0), quantity::milli(1500)}) == "1.5 cpu");
  CHECK(names.text({gpus(-1), quantity::unlimited()}) == "-1 h100/gpu, unlimited cpu");
  CHECK(names.text({}) == "nothing");
  CHECK(dimension_names<>{}.text(gpus(4)) == "4 gpu");
}
