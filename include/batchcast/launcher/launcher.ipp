// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/launcher/launcher.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace launcher {

inline constexpr const char* name_the_group =
    " Or name the group: NAME:RANK/WORLD; in Python also group=(\"name\", rank, world).";
inline constexpr const char* name_the_shard = " Or say which shard it is: --shard I/N.";

[[noreturn]] inline void refuse(const std::string& why) {
  throw InvalidArgument(text("batchcast: {}", why));
}

/// A variable that is set and not empty.
struct Variable {
  std::string name;
  std::string value;
  [[nodiscard]] std::string text() const {
    return batchcast::text("{}={}", name, printable(value));
  }
};

/// The first of these that is set.
inline std::optional<Variable> find(const Environment& environment,
                                    std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const value = environment(name);
    if (value != nullptr && *value != '\0') return Variable{name, value};
  }
  return std::nullopt;
}

inline std::string list_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list;
}

inline std::optional<std::uint32_t> read_number(std::string_view text) noexcept {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

inline std::uint32_t number_of(const Variable& variable) {
  if (const auto number = read_number(variable.value)) return *number;
  refuse(text("{} is not a number.", variable.text()));
}

/// The number at that index in Slurm's list "5,4(x3)", which has one number for each node and
/// shortens runs of equal ones.
inline std::optional<std::uint32_t> number_at(std::string_view list, std::uint64_t index) noexcept {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view run = list.substr(0, comma);
    const std::size_t open = std::min(run.find("(x"), run.size());
    std::optional<std::uint32_t> times = 1;
    if (open != run.size()) {
      if (run.back() != ')') return std::nullopt;
      times = read_number(run.substr(open + 2, run.size() - open - 3));
    }
    if (!times) return std::nullopt;
    if (index < *times) return read_number(run.substr(0, open));
    index -= *times;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return std::nullopt;
}

/// Collects what one launcher says: which variables it has set, which it lacks.
class Reading {
 public:
  Reading(const Environment& environment, const char* launcher)
      : environment_(environment), launcher_(launcher) {}

  /// The first of these that is set.
  std::optional<Variable> optional(std::initializer_list<const char*> names) {
    auto found = find(environment_, names);
    if (found) set_.push_back(found->text());
    return found;
  }
  std::optional<Variable> needed(std::initializer_list<const char*> names) {
    auto found = optional(names);
    if (!found) missing_.push_back(std::string(*names.begin()));
    return found;
  }
  std::optional<std::uint32_t> number(std::initializer_list<const char*> names) {
    const auto found = needed(names);
    return found ? std::optional(number_of(*found)) : std::nullopt;
  }

  [[nodiscard]] const char* launcher() const noexcept { return launcher_; }
  [[nodiscard]] bool whole() const noexcept { return missing_.empty(); }
  /// "torchrun (LOCAL_RANK=0, LOCAL_WORLD_SIZE=2)"
  [[nodiscard]] std::string origin() const { return text("{} ({})", launcher_, list_of(set_)); }
  [[noreturn]] void refuse_half(const char* instead) const {
    refuse(
        text("of what {} sets, {} is there and {} is not. Start the process with {}, or set what "
             "is missing.{}",
             launcher_, list_of(set_), list_of(missing_), launcher_, instead));
  }

 private:
  const Environment& environment_;
  const char* launcher_;
  std::vector<std::string> set_;
  std::vector<std::string> missing_;
};

/// What one launcher says about a process's place on its node.
struct Place {
  Reading reading;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> world;
  std::string job;
  std::optional<LaunchedJob> ranks = {};  ///< where others are on other nodes

  [[nodiscard]] bool whole() const noexcept { return reading.whole(); }
};

inline void check(const Place& place) {
  if (!place.rank || !place.world || *place.rank < *place.world) return;
  refuse(text("{} makes no sense: ranks are numbered from 0, and rank {} is none of {}.",
              place.reading.origin(), *place.rank, *place.world));
}

/// Lightning's launcher says neither RANK nor how many processes this node has. Its first process
/// is rank 0 and starts the others on its node.
inline bool is_lightning(const Environment& environment) {
  const auto is_set = [&](const char* name) { return find(environment, {name}).has_value(); };
  return is_set("LOCAL_RANK") && is_set("NODE_RANK") && is_set("WORLD_SIZE") && !is_set("RANK") &&
         !is_set("LOCAL_WORLD_SIZE");
}

inline std::optional<Place> lightning_place(const Environment& environment) {
  if (!is_lightning(environment)) return std::nullopt;
  Place place{Reading(environment, "Lightning"), {}, {}, {}};
  place.rank = place.reading.number({"LOCAL_RANK"});
  place.world = place.reading.number({"WORLD_SIZE"});
  const auto node = place.reading.number({"NODE_RANK"});
  const auto address = place.reading.needed({"MASTER_ADDR"});
  const auto port = place.reading.needed({"MASTER_PORT"});
  if (node != 0U) {
    refuse(
        text("{}: the job has several nodes, and Lightning's launcher does not tell how many "
             "processes each of them has. Start it with torchrun.{}",
             place.reading.origin(), name_the_group));
  }
  if (address && port) place.job = text("lightning-{}:{}", address->value, port->value);
  return place;
}

/// Where a launcher numbers a job's ranks node by node, two numbers of a rank say which one is its
/// node's first. With another numbering the ranks of a node find different ones, and are refused.
/// Nothing where all ranks are here, or the launcher does not say.
inline std::optional<LaunchedJob> job_of(const Environment& environment, const Place& place,
                                         std::initializer_list<const char*> rank,
                                         std::initializer_list<const char*> world) {
  const auto number = find(environment, rank);
  const auto all = find(environment, world);
  if (!number || !all || !place.whole()) return std::nullopt;
  const auto in_job = read_number(number->value);
  const auto count = read_number(all->value);
  if (!in_job || !count || *in_job < *place.rank || *count <= *place.world) return std::nullopt;
  const std::uint32_t first = *in_job - *place.rank;
  if (first > *count - *place.world) return std::nullopt;
  return LaunchedJob{first, *count};
}

/// Ray Train sets torchrun's variables, but has another for the node.
inline bool is_ray_train(const Environment& environment) {
  const auto is_set = [&](const char* name) { return find(environment, {name}).has_value(); };
  return is_set("RAY_JOB_ID") && is_set("NODE_RANK") && is_set("LOCAL_WORLD_SIZE") &&
         !is_set("GROUP_RANK");
}

inline const char* name_of_torchrun(const Environment& environment) {
  return is_ray_train(environment) ? "Ray Train" : "torchrun";
}

inline std::optional<Place> torchrun_place(const Environment& environment) {
  if (!find(environment, {"LOCAL_RANK", "LOCAL_WORLD_SIZE"})) return std::nullopt;
  if (is_lightning(environment)) return std::nullopt;
  Place place{Reading(environment, name_of_torchrun(environment)), {}, {}, {}};
  place.rank = place.reading.number({"LOCAL_RANK"});
  place.world = place.reading.number({"LOCAL_WORLD_SIZE"});
  const auto address = place.reading.needed({"MASTER_ADDR"});
  const auto port = place.reading.needed({"MASTER_PORT"});
  // torchrun often says `none`, and other launchers that set its variables do not set this one.
  const auto run = place.reading.optional({"TORCHELASTIC_RUN_ID"});
  if (run) place.job = run->value + "@";
  if (address && port) place.job += text("{}:{}", address->value, port->value);
  place.ranks = job_of(environment, place, {"RANK"}, {"WORLD_SIZE"});
  return place;
}

inline std::optional<Place> open_mpi_place(const Environment& environment) {
  if (!find(environment, {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"})) {
    return std::nullopt;
  }
  Place place{Reading(environment, "mpirun"), {}, {}, {}};
  place.rank = place.reading.number({"OMPI_COMM_WORLD_LOCAL_RANK"});
  place.world = place.reading.number({"OMPI_COMM_WORLD_LOCAL_SIZE"});
  const auto job = place.reading.needed({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
  if (job) place.job = "mpi-" + job->value;
  place.ranks = job_of(environment, place, {"OMPI_COMM_WORLD_RANK"}, {"OMPI_COMM_WORLD_SIZE"});
  return place;
}

/// The number of a step's tasks that are on this node.
inline std::optional<std::uint32_t> slurm_world(Reading& reading) {
  const auto tasks = reading.needed(
      {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"});
  if (!tasks) return std::nullopt;
  if (const auto all = read_number(tasks->value)) return all;
  const auto node = reading.number({"SLURM_NODEID"});
  if (!node) return std::nullopt;
  if (const auto world = number_at(tasks->value, *node)) return world;
  refuse(text("{} does not say how many tasks node {} has.", tasks->text(), *node));
}

/// Outside of a step these variables belong to the batch script, which runs once.
inline bool is_slurm_step(const Environment& environment) {
  return find(environment, {"SLURM_STEP_ID", "SLURM_STEPID"}).has_value();
}

inline std::optional<Place> slurm_place(const Environment& environment) {
  if (!is_slurm_step(environment)) return std::nullopt;
  Place place{Reading(environment, "srun"), {}, {}, {}};
  place.rank = place.reading.number({"SLURM_LOCALID"});
  place.world = slurm_world(place.reading);
  const auto job = place.reading.needed({"SLURM_JOB_ID", "SLURM_JOBID"});
  const auto step = place.reading.needed({"SLURM_STEP_ID", "SLURM_STEPID"});
  if (job && step) place.job = text("slurm-{}.{}", job->value, step->value);
  place.ranks =
      job_of(environment, place, {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  return place;
}

/// Whether `other` says the same as `place`, or may have started its launcher once on each node.
inline bool agree(const Place& place, const Place& other) {
  if (other.whole() && *other.world == 1) return true;
  return (!other.rank || other.rank == place.rank) && (!other.world || other.world == place.world);
}

[[noreturn]] inline void refuse_without_launcher(const Environment& environment) {
  std::string why =
      "`auto` takes rank and world from what started this process, and no launcher did: of "
      "LOCAL_RANK and LOCAL_WORLD_SIZE (torchrun, Ray Train), OMPI_COMM_WORLD_LOCAL_RANK "
      "(mpirun) and SLURM_STEP_ID (srun) none is set.";
  if (find(environment, {"SLURM_JOB_ID"})) {
    why += " In a Slurm job, it is `srun` that starts several ranks; the batch script runs once.";
  }
  why +=
      " Start it with one of these. A bc.Loader also knows them from torch.distributed, after "
      "init_process_group(). Lightning's own launcher tells its first process the world only in "
      "fit(): make the loader in train_dataloader().";
  refuse(why + name_the_group);
}

// ---- nodes

inline std::optional<LaunchedNode> node_in(const Reading& reading,
                                           std::optional<std::uint32_t> rank,
                                           std::optional<std::uint32_t> nodes) {
  if (!reading.whole()) reading.refuse_half(name_the_shard);
  if (*rank >= *nodes) {
    refuse(text("{} makes no sense: nodes are numbered from 0, and {} is none of {}.",
                reading.origin(), *rank, *nodes));
  }
  return LaunchedNode{*rank, *nodes, reading.origin()};
}

/// Ray Train numbers ranks node by node. Where nodes have unlike numbers of them, the ranks of some
/// node do not begin where they would otherwise. That node refuses, and with it the job.
inline void check_ray_node(const Environment& environment, Reading& reading) {
  const auto rank = reading.number({"RANK"});
  const auto node = reading.number({"NODE_RANK"});
  const auto local = reading.number({"LOCAL_RANK"});
  const auto local_world = find(environment, {"LOCAL_WORLD_SIZE"});
  if (!reading.whole()) return;  // refused by the reader
  if (std::uint64_t{*node} * number_of(*local_world) + *local == *rank) return;
  refuse(text("{}: nodes have unlike numbers of workers. Have Ray give each node equally many.{}",
              reading.origin(), name_the_shard));
}

inline std::optional<LaunchedNode> torchrun_node(const Environment& environment) {
  if (!find(environment, {"GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_WORLD_SIZE"})) {
    return std::nullopt;
  }
  Reading reading(environment, name_of_torchrun(environment));
  const bool is_ray = is_ray_train(environment);
  if (is_ray) check_ray_node(environment, reading);
  const auto rank = is_ray ? std::optional(number_of(*find(environment, {"NODE_RANK"})))
                           : reading.number({"GROUP_RANK"});
  if (find(environment, {"GROUP_WORLD_SIZE"})) {
    return node_in(reading, rank, reading.number({"GROUP_WORLD_SIZE"}));
  }
  const auto world = reading.number({"WORLD_SIZE"});
  const auto local = reading.number({"LOCAL_WORLD_SIZE"});
  if (world && local && (*local == 0 || *world % *local != 0)) {
    refuse(text("{} makes no sense: nodes have unlike numbers of processes.{}", reading.origin(),
                name_the_shard));
  }
  return node_in(reading, rank, world && local ? std::optional(*world / *local) : std::nullopt);
}

inline std::optional<LaunchedNode> open_mpi_node(const Environment& environment) {
  if (!find(environment, {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"})) {
    return std::nullopt;
  }
  Reading reading(environment, "mpirun");
  const auto all = reading.number({"OMPI_COMM_WORLD_SIZE"});
  const auto local = reading.number({"OMPI_COMM_WORLD_LOCAL_SIZE"});
  if (reading.whole() && *all != *local) {
    refuse(text("{}: the job has several nodes, and mpirun does not tell which of them this is.{}",
                reading.origin(), name_the_shard));
  }
  return node_in(reading, 0, 1);
}

inline std::optional<LaunchedNode> slurm_node(const Environment& environment) {
  if (!is_slurm_step(environment)) return std::nullopt;
  Reading reading(environment, "srun");
  const auto rank = reading.number({"SLURM_NODEID"});
  return node_in(reading, rank, reading.number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}));
}

/// The number in PET_NNODES, which may be a range as torchrun's --nnodes may: "2", "2:2".
inline std::optional<std::uint32_t> pod_count(const Variable& nodes) {
  const std::string_view range = nodes.value;
  const std::size_t colon = range.find(':');
  if (colon == std::string_view::npos) return number_of(nodes);
  const auto fewest = read_number(range.substr(0, colon));
  if (fewest && fewest == read_number(range.substr(colon + 1))) return fewest;
  refuse(text("{} does not say how many nodes there are.{}", nodes.text(), name_the_shard));
}

/// The Pods of an indexed Job. Kubernetes does not say how many there are. Kubeflow does, in
/// torchrun's variables, and so can the Job's template.
inline std::optional<LaunchedNode> kubernetes_node(const Environment& environment) {
  const auto pod = find(environment, {"JOB_COMPLETION_INDEX"});
  const auto node = find(environment, {"PET_NODE_RANK"});
  if (!pod && !node) return std::nullopt;
  if (pod && node && number_of(*pod) != number_of(*node)) {
    refuse(text("{} and {} contradict each other.{}", pod->text(), node->text(), name_the_shard));
  }
  Reading reading(environment, "Kubernetes");
  const auto rank = reading.number({"PET_NODE_RANK", "JOB_COMPLETION_INDEX"});
  const auto nodes = reading.needed({"PET_NNODES"});
  if (nodes) return node_in(reading, rank, pod_count(*nodes));
  refuse(
      text("{} says which Pod of the Job this is, and nothing says how many there are. Set "
           "PET_NNODES to the Job's `completions` in its template.{}",
           reading.origin(), name_the_shard));
}

/// The job of a batch script or of salloc's shell, outside of every step.
inline std::optional<LaunchedNode> slurm_job(const Environment& environment) {
  const auto nodes = find(environment, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  if (!nodes || !find(environment, {"SLURM_JOB_ID", "SLURM_JOBID"})) return std::nullopt;
  if (number_of(*nodes) == 1) return LaunchedNode{0, 1, text("Slurm ({})", nodes->text())};
  refuse(
      text("{}, but this process runs on one of these nodes, outside of a step: start it on each "
           "of them with `srun --ntasks-per-node=1`.{}",
           nodes->text(), name_the_shard));
}

}  // namespace launcher

BATCHCAST_INLINE std::string group_name_of(std::string_view words) {
  constexpr std::string_view signs = "-_.:@+";
  constexpr std::size_t digits = 16;
  std::string name(words);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  bool odd = name.size() > limits::consumer_name_bytes_max || name.empty();
  for (char& c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      signs.find(c) != std::string_view::npos;
    if (kept) continue;
    c = '-';
    odd = true;
  }
  if (!odd) return name;
  name.resize(std::min(name.size(), limits::consumer_name_bytes_max - digits - 1));
  std::array<char, digits> text_of_hash;
  for (std::size_t i = digits; i-- > 0; hash >>= 4U) {
    text_of_hash[i] = "0123456789abcdef"[hash & 15U];
  }
  return text("{}-{}", name, std::string(text_of_hash.data(), digits));
}

BATCHCAST_INLINE LaunchedRank launched_rank(const Environment& environment) {
  std::vector<launcher::Place> places;  // the innermost first
  for (const auto look : {launcher::lightning_place, launcher::torchrun_place,
                          launcher::open_mpi_place, launcher::slurm_place}) {
    if (auto place = look(environment)) {
      launcher::check(*place);
      places.push_back(std::move(*place));
    }
  }
  if (places.empty()) launcher::refuse_without_launcher(environment);
  const auto taken = std::find_if(places.begin(), places.end(),
                                  [](const launcher::Place& place) { return place.whole(); });
  if (taken == places.end()) places.front().reading.refuse_half(launcher::name_the_group);
  for (const launcher::Place& other : places) {
    if (launcher::agree(*taken, other)) continue;
    launcher::refuse(
        text("{} and {} contradict each other. Unset the variables of the one that did not start "
             "this process.{}",
             taken->reading.origin(), other.reading.origin(), launcher::name_the_group));
  }
  Group group(group_name_of(taken->job), *taken->rank, *taken->world);
  if (const auto& ranks = taken->ranks) {
    group.job_first = ranks->first;
    group.job_world = ranks->world;
  }
  return {std::move(group), taken->reading.origin()};
}

BATCHCAST_INLINE LaunchedNode launched_node(const Environment& environment) {
  for (const auto look : {launcher::torchrun_node, launcher::open_mpi_node, launcher::slurm_node,
                          launcher::kubernetes_node, launcher::slurm_job}) {
    if (auto node = look(environment)) return std::move(*node);
  }
  launcher::refuse(text(
      "`--shard auto` takes the number of this node from what started the process, and no launcher "
      "did: of GROUP_RANK (torchrun), NODE_RANK (Ray Train), OMPI_COMM_WORLD_SIZE (mpirun), "
      "SLURM_NODEID in a step (srun) and JOB_COMPLETION_INDEX (Kubernetes) none is set. Start it "
      "with one of these.{}",
      launcher::name_the_shard));
}

BATCHCAST_INLINE bool has_other_nodes(const Environment& environment) noexcept {
  try {
    const auto all = launcher::find(environment, {"OMPI_COMM_WORLD_SIZE"});
    const auto local = launcher::find(environment, {"OMPI_COMM_WORLD_LOCAL_SIZE"});
    const bool torchrun = launcher::find(environment, {"LOCAL_WORLD_SIZE"}).has_value();
    if (!torchrun && all && local) return launcher::number_of(*all) > launcher::number_of(*local);
    return launched_node(environment).nodes > 1;
  } catch (const std::exception&) {
    return false;  // it does not say so
  }
}

}  // namespace batchcast::inline v0_1::detail
