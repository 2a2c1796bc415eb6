// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/option_table.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace batchcast::cli {
namespace {

using options::Kind;
using options::Option;

/// As the parser names what a value is, with the range for the page of help.
std::string type_of(const Option& option) {
  const std::string type = options::command_value(option);
  if (option.kind != Kind::count || option.most > std::numeric_limits<std::uint16_t>::max()) {
    return type;
  }
  return text("{}:{} in [{} - {}]", type, type, option.least, option.most);
}

/// Where the parser puts what it reads.
struct Taken {
  void* options;
  std::string* refusal;  ///< null, or for what the command answers itself
};

void take(const Option& option, const Taken& taken, const std::string& called,
          const std::vector<std::string>& words) {
  try {
    options::assign(option, taken.options, options::value_in(option, words));
  } catch (const options::Refused& refused) {
    // A value with a grammar is refused by the command; one that is no number, by the parser.
    const bool has_grammar = option.kind == Kind::bytes || !option.word.empty();
    if (taken.refusal == nullptr || !has_grammar) {
      throw CLI::ValidationError(called, refused.what());
    }
    *taken.refusal = text("batchcast: {}: {}", called, refused.what());
  } catch (const InvalidArgument& invalid) {
    if (taken.refusal == nullptr) throw;
    *taken.refusal = invalid.what();
  }
}

CLI::Option* add(CLI::App& command, const Option& option, const Taken& taken,
                 const std::string& names, const std::string& sentence) {
  const std::string called = names.substr(0, names.find(','));
  if (option.kind == Kind::flag) {
    CLI::Option* flag = command.add_option(
        names,
        [option, taken](const CLI::results_t& words) {
          bool is_set = false;
          if (!CLI::detail::lexical_cast(words.back(), is_set)) return false;  // of --flag=VALUE
          options::assign(option, taken.options, is_set);
          return true;
        },
        sentence);
    return flag->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->expected(0);
  }
  CLI::Option* added = command.add_option(
      names,
      [option, taken, called](const CLI::results_t& words) {
        take(option, taken, called, words);
        return true;
      },
      sentence);
  added->type_name(type_of(option))->default_str(options::command_default(option));
  if (option.is_list()) {
    added->expected(1, CLI::detail::expected_max_vector_size)
        ->delimiter(',')  // for words_given
        ->allow_extra_args(false);
  }
  return added;
}

}  // namespace

void add_options(CLI::App& command, const options::Options& table, void* taken,
                 const std::vector<std::string>& by_place, std::string* refusal) {
  const Taken into{taken, refusal};
  for (const std::string& name : by_place) {
    const Option& option = *options::find(table, name);
    add(command, option, into, name, options::command_sentence(option, table))
        ->required(option.is_needed);
  }
  for (const Option& option : table) {
    const bool is_placed =
        std::find(by_place.begin(), by_place.end(), option.name) != by_place.end();
    if (is_placed || !option.is_for_commands()) continue;
    CLI::Option* added = add(command, option, into, options::command_names(option),
                             options::command_sentence(option, table));
    added->required(option.is_needed)->group(option.heading);
    if (!option.needs.empty()) {
      added->needs(command.get_option(options::command_names(*options::find(table, option.needs))));
    }
  }
}

}  // namespace batchcast::cli
