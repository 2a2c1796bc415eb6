// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What other tests run as processes of their own. Run without being asked, they have nothing to do.
#include "loader_support.hpp"
#include "producer_process.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace batchcast::testing {
namespace {

std::string asked_for(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

TEST_CASE("Role: a producer", "[.producer]") {
  const std::string directory = asked_for(role_directory);
  if (directory.empty()) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const ServedStream stream({.recipe_json = asked_for(role_recipe)}, directory);
  for (;;) ::pause();
}

TEST_CASE("Role: a trainer that resumes", "[.resumes]") {
  const std::string directory = asked_for(role_directory);
  if (directory.empty()) return;
  SharedDataset<> dataset(ConsumerOptions{.stream = "served", .directory = directory});
  torch::load(dataset, asked_for(role_file));
  const auto loader = torch::data::make_data_loader(dataset, 2);
  std::vector<Seen> seen;
  for (auto& batch : *loader) seen.push_back(see(batch));
  CHECK(seen == std::vector<Seen>{expected(7, 2), expected(9, 1)});
}

}  // namespace
}  // namespace batchcast::testing
