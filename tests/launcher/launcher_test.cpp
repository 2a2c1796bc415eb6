// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/launcher/launcher.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;
using Catch::Contains;

namespace {

using Variables = std::map<std::string, std::string>;

Environment of(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Variables operator+(Variables one, const Variables& other) {
  for (const auto& [name, value] : other) one[name] = value;
  return one;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

const Variables torchrun = {
    {"LOCAL_RANK", "1"},      {"LOCAL_WORLD_SIZE", "4"}, {"RANK", "5"},
    {"WORLD_SIZE", "8"},      {"GROUP_RANK", "1"},       {"GROUP_WORLD_SIZE", "2"},
    {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"},  {"TORCHELASTIC_RUN_ID", "none"}};
// As Open MPI 4.1 sets them; 5.0 writes the namespace as `prterun-node0-77@1`.
const Variables mpirun = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
    {"OMPI_COMM_WORLD_RANK", "2"},       {"OMPI_COMM_WORLD_SIZE", "4"},
    {"PMIX_NAMESPACE", "258605057"},     {"OMPI_MCA_ess_base_jobid", "258605057"}};
const Variables srun = {{"SLURM_LOCALID", "0"},
                        {"SLURM_NODEID", "1"},
                        {"SLURM_STEP_NUM_NODES", "4"},
                        {"SLURM_NNODES", "4"},
                        {"SLURM_STEP_TASKS_PER_NODE", "5,4(x3)"},
                        {"SLURM_TASKS_PER_NODE", "9(x4)"},
                        {"SLURM_JOB_ID", "42"},
                        {"SLURM_STEP_ID", "0"}};
/// As Lightning 2.6 sets them, in its first process too.
const Variables lightning = {{"LOCAL_RANK", "1"},
                             {"NODE_RANK", "0"},
                             {"WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "127.0.0.1"},
                             {"MASTER_PORT", "40123"}};
/// As Ray Train 2.60 sets them for workers with torch, on the second of two nodes.
const Variables ray_train = {
    {"RAY_JOB_ID", "01000000"},   {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "2"},
    {"NODE_RANK", "1"},           {"RANK", "3"},           {"WORLD_SIZE", "4"},
    {"MASTER_ADDR", "192.0.2.7"}, {"MASTER_PORT", "41001"}};
/// One task on each node, which starts the ranks: torchrun, or mpirun's daemon.
const Variables srun_of_agents = srun + Variables{{"SLURM_STEP_TASKS_PER_NODE", "1(x4)"}};
const Variables batch_script = without(srun + Variables{{"SLURM_NODEID", "0"}}, "SLURM_STEP_ID");

struct Accepted {
  const char* what;
  Variables variables;
  std::string is;
  std::string origin;
};
struct Wrong {
  const char* what;
  Variables variables;
  std::vector<std::string> says;
};

}  // namespace

TEST_CASE("rank and world come from the innermost launcher") {
  const std::vector<Accepted> cases = {
      {"torchrun", torchrun, "none@node0:29500:1/4@4/8",
       "torchrun (LOCAL_RANK=1, LOCAL_WORLD_SIZE=4, MASTER_ADDR=node0, MASTER_PORT=29500, "
       "TORCHELASTIC_RUN_ID=none)"},
      {"its variables without a run", without(torchrun, "TORCHELASTIC_RUN_ID"),
       "node0:29500:1/4@4/8", "torchrun (LOCAL_RANK=1"},
      {"Ray Train", ray_train, "192.0.2.7:41001:1/2@2/4",
       "Ray Train (LOCAL_RANK=1, LOCAL_WORLD_SIZE=2, MASTER_ADDR=192.0.2.7, MASTER_PORT=41001)"},
      {"torchrun in a worker of Ray", torchrun + Variables{{"RAY_JOB_ID", "01000000"}},
       "none@node0:29500:1/4@4/8", "torchrun ("},
      {"Lightning's own launcher", lightning, "lightning-127.0.0.1:40123:1/2",
       "Lightning (LOCAL_RANK=1, WORLD_SIZE=2, NODE_RANK=0, MASTER_ADDR=127.0.0.1, "
       "MASTER_PORT=40123)"},
      {"Lightning in a batch script", batch_script + lightning, "lightning-127.0.0.1:40123:1/2",
       "Lightning ("},
      {"torchrun with a node's number", torchrun + Variables{{"NODE_RANK", "1"}},
       "none@node0:29500:1/4@4/8", "torchrun ("},
      {"mpirun", mpirun, "mpi-258605057:2/4",
       "mpirun (OMPI_COMM_WORLD_LOCAL_RANK=2, OMPI_COMM_WORLD_LOCAL_SIZE=4, "
       "PMIX_NAMESPACE=258605057)"},
      {"mpirun without PMIx", without(mpirun, "PMIX_NAMESPACE"), "mpi-258605057:2/4", "mpirun ("},
      {"Open MPI 5", mpirun + Variables{{"PMIX_NAMESPACE", "prterun-node0-77@1"}},
       "mpi-prterun-node0-77@1:2/4", "mpirun ("},
      {"srun", srun, "slurm-42.0:0/4",
       "srun (SLURM_LOCALID=0, SLURM_STEP_TASKS_PER_NODE=5,4(x3), SLURM_NODEID=1"},
      {"srun that numbers its tasks",
       srun + Variables{{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "17"}},
       "slurm-42.0:0/4@5/17", "srun ("},
      {"srun, the tasks of one node",
       srun + Variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, "slurm-42.0:0/4", "srun ("},
      {"mpirun on two nodes",
       mpirun + Variables{{"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_SIZE", "8"}},
       "mpi-258605057:2/4@4/8", "mpirun ("},
      {"torchrun with numbers that do not go node by node", torchrun + Variables{{"RANK", "0"}},
       "none@node0:29500:1/4", "torchrun ("},
      {"srun, first node", srun + Variables{{"SLURM_NODEID", "0"}}, "slurm-42.0:0/5", "srun ("},
      {"srun, last node", srun + Variables{{"SLURM_NODEID", "3"}}, "slurm-42.0:0/4", "srun ("},
      {"srun without the step's own list", without(srun, "SLURM_STEP_TASKS_PER_NODE"),
       "slurm-42.0:0/9", "srun ("},
      {"older names",
       {{"SLURM_LOCALID", "1"},
        {"SLURM_NTASKS_PER_NODE", "2"},
        {"SLURM_JOBID", "7"},
        {"SLURM_STEPID", "3"}},
       "slurm-7.3:1/2",
       "srun ("},
      {"torchrun that srun started", srun_of_agents + torchrun, "none@node0:29500:1/4@4/8",
       "torchrun ("},
      {"mpirun over srun", srun_of_agents + mpirun, "mpi-258605057:2/4", "mpirun ("},
      {"torchrun in a batch script", batch_script + torchrun, "none@node0:29500:1/4@4/8",
       "torchrun ("},
      {"LOCAL_RANK set to Slurm's by hand", srun + Variables{{"LOCAL_RANK", "0"}}, "slurm-42.0:0/4",
       "srun ("},
      {"an address for torch under srun",
       srun + Variables{{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1"}, {"WORLD_SIZE", "17"}},
       "slurm-42.0:0/4", "srun ("},
      {"an empty variable is none", srun + Variables{{"LOCAL_RANK", ""}}, "slurm-42.0:0/4",
       "srun ("},
  };
  for (const Accepted& one : cases) {
    INFO(one.what);
    const LaunchedRank found = launched_rank(of(one.variables));
    CHECK(found.group.text() == one.is);
    CHECK_THAT(found.origin, Contains(one.origin));
    CHECK(Group(found.group.text()) == found.group);
  }
}

TEST_CASE("an environment that says no rank is refused by its variables") {
  const std::vector<Wrong> cases = {
      {"no launcher",
       {},
       {"no launcher did", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_STEP_ID",
        "in fit(): make the loader in train_dataloader()", "NAME:RANK/WORLD"}},
      {"Lightning on a second node",
       lightning + Variables{{"NODE_RANK", "1"}, {"WORLD_SIZE", "4"}},
       {"Lightning (LOCAL_RANK=1", "several nodes", "torchrun", "NAME:RANK/WORLD"}},
      {"half of Lightning",
       without(lightning, "MASTER_PORT"),
       {"of what Lightning sets", "MASTER_PORT is not"}},
      {"a rank too high for Lightning",
       lightning + Variables{{"LOCAL_RANK", "2"}},
       {"rank 2 is none of 2"}},
      {"a script's own variables, of which one is missing",
       lightning + Variables{{"RANK", "1"}},
       {"of what torchrun sets", "LOCAL_WORLD_SIZE is not"}},
      {"a batch script", batch_script, {"no launcher did", "`srun`", "batch script runs once"}},
      {"half of torchrun",
       {{"LOCAL_RANK", "1"}},
       {"LOCAL_RANK=1 is there", "LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT is not"}},
      {"the other half",
       without(torchrun, "LOCAL_RANK"),
       {"LOCAL_WORLD_SIZE=4", "LOCAL_RANK is not"}},
      {"half of mpirun",
       without(mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE"),
       {"OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE is not"}},
      {"an mpirun without a job",
       without(without(mpirun, "PMIX_NAMESPACE"), "OMPI_MCA_ess_base_jobid"),
       {"PMIX_NAMESPACE is not"}},
      {"half of srun", without(srun, "SLURM_LOCALID"), {"SLURM_LOCALID is not"}},
      {"srun without a node", without(srun, "SLURM_NODEID"), {"SLURM_NODEID is not"}},
      {"no number",
       torchrun + Variables{{"LOCAL_RANK", "one"}},
       {"LOCAL_RANK=one is not a number"}},
      {"a negative one",
       torchrun + Variables{{"LOCAL_RANK", "-1"}},
       {"LOCAL_RANK=-1 is not a number"}},
      {"a rank too high",
       torchrun + Variables{{"LOCAL_RANK", "4"}},
       {"LOCAL_RANK=4, LOCAL_WORLD_SIZE=4", "rank 4 is none of 4"}},
      {"no ranks",
       mpirun + Variables{{"OMPI_COMM_WORLD_LOCAL_SIZE", "0"}},
       {"rank 2 is none of 0"}},
      {"a list that ends early",
       srun + Variables{{"SLURM_NODEID", "4"}},
       {"SLURM_STEP_TASKS_PER_NODE=5,4(x3)", "node 4"}},
      {"a list that is none",
       srun + Variables{{"SLURM_STEP_TASKS_PER_NODE", "4(x"}},
       {"SLURM_STEP_TASKS_PER_NODE=4(x does not say"}},
      {"torchrun and srun",
       torchrun + srun,
       {"torchrun (LOCAL_RANK=1", "srun (SLURM_LOCALID=0", "contradict each other", "Unset"}},
      {"four agents on a node",
       srun + torchrun +
           Variables{{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}, {"SLURM_LOCALID", "3"}},
       {"contradict each other"}},
      {"LOCAL_RANK by hand, wrong",
       srun + Variables{{"LOCAL_RANK", "5"}},
       {"LOCAL_RANK=5", "SLURM_LOCALID=0", "contradict each other"}},
      {"mpirun and torchrun", mpirun + torchrun, {"contradict each other"}},
      {"what a terminal would obey", torchrun + Variables{{"LOCAL_RANK", "\x1b[2J"}}, {"\\x1b[2J"}},
  };
  for (const Wrong& one : cases) {
    INFO(one.what);
    CHECK_THROWS_AS(launched_rank(of(one.variables)), InvalidArgument);
    for (const std::string& text : one.says) {
      CHECK_THROWS_WITH(launched_rank(of(one.variables)), Contains(text));
    }
  }
}

TEST_CASE("a node's number comes from the same launchers, and from Kubernetes") {
  const Variables pod = {{"JOB_COMPLETION_INDEX", "1"}, {"PET_NNODES", "3"}};
  const std::vector<Accepted> cases = {
      {"torchrun", torchrun, "1/2", "torchrun (GROUP_RANK=1, GROUP_WORLD_SIZE=2)"},
      {"an older torchrun", without(torchrun, "GROUP_WORLD_SIZE"), "1/2",
       "torchrun (GROUP_RANK=1, WORLD_SIZE=8, LOCAL_WORLD_SIZE=4)"},
      {"torchrun that srun started", srun_of_agents + torchrun, "1/2", "torchrun ("},
      {"Ray Train", ray_train, "1/2",
       "Ray Train (RANK=3, NODE_RANK=1, LOCAL_RANK=1, WORLD_SIZE=4, LOCAL_WORLD_SIZE=2)"},
      {"Ray Train on one node",
       ray_train + Variables{{"NODE_RANK", "0"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}}, "0/1",
       "Ray Train ("},
      {"Ray Train in a Slurm job", batch_script + ray_train, "1/2", "Ray Train ("},
      {"srun", srun, "1/4", "srun (SLURM_NODEID=1, SLURM_STEP_NUM_NODES=4)"},
      {"srun, older", without(srun, "SLURM_STEP_NUM_NODES"), "1/4", "SLURM_NNODES=4"},
      {"mpirun on one node", mpirun, "0/1", "mpirun ("},
      {"a Pod", pod, "1/3", "Kubernetes (JOB_COMPLETION_INDEX=1, PET_NNODES=3)"},
      {"a Pod of Kubeflow's",
       {{"PET_NODE_RANK", "2"}, {"PET_NNODES", "3:3"}},
       "2/3",
       "Kubernetes ("},
      {"both", pod + Variables{{"PET_NODE_RANK", "1"}}, "1/3", "Kubernetes ("},
      {"torchrun in a Pod", pod + torchrun, "1/2", "torchrun ("},
      {"a batch script of one node", batch_script + Variables{{"SLURM_NNODES", "1"}}, "0/1",
       "Slurm (SLURM_NNODES=1)"},
  };
  for (const Accepted& one : cases) {
    INFO(one.what);
    const LaunchedNode node = launched_node(of(one.variables));
    CHECK(std::to_string(node.rank) + "/" + std::to_string(node.nodes) == one.is);
    CHECK_THAT(node.origin, Contains(one.origin));
    CHECK(has_other_nodes(of(one.variables)) == (node.nodes > 1));
  }
}

TEST_CASE("an environment that says no node is refused by its variables") {
  const std::vector<Wrong> cases = {
      {"no launcher", {}, {"GROUP_RANK", "SLURM_NODEID", "JOB_COMPLETION_INDEX", "--shard I/N"}},
      {"a Pod that is told no number",
       {{"JOB_COMPLETION_INDEX", "1"}},
       {"JOB_COMPLETION_INDEX=1", "PET_NNODES", "`completions`", "--shard I/N"}},
      {"a range", {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "1:3"}}, {"PET_NNODES=1:3"}},
      {"two numbers",
       {{"PET_NODE_RANK", "1"}, {"JOB_COMPLETION_INDEX", "2"}, {"PET_NNODES", "3"}},
       {"JOB_COMPLETION_INDEX=2 and PET_NODE_RANK=1 contradict"}},
      {"half of torchrun", without(torchrun, "GROUP_RANK"), {"GROUP_RANK is not"}},
      {"an older one, uneven",
       without(torchrun, "GROUP_WORLD_SIZE") + Variables{{"WORLD_SIZE", "7"}},
       {"WORLD_SIZE=7, LOCAL_WORLD_SIZE=4"}},
      {"Ray Train, two workers on the first node and one on each of two others",
       ray_train + Variables{{"LOCAL_WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"RANK", "2"}},
       {"NODE_RANK=1", "unlike numbers of workers", "--shard I/N"}},
      {"Ray Train without a rank", without(ray_train, "RANK"), {"Ray Train", "RANK is not"}},
      {"a node too high",
       torchrun + Variables{{"GROUP_RANK", "2"}},
       {"GROUP_RANK=2", "2 is none of 2"}},
      {"mpirun on several nodes",
       mpirun + Variables{{"OMPI_COMM_WORLD_SIZE", "8"}},
       {"OMPI_COMM_WORLD_SIZE=8", "mpirun does not tell which"}},
      {"a batch script of several", batch_script, {"SLURM_NNODES=4", "srun --ntasks-per-node=1"}},
      {"no number", srun + Variables{{"SLURM_NODEID", "x"}}, {"SLURM_NODEID=x is not a number"}},
  };
  for (const Wrong& one : cases) {
    INFO(one.what);
    CHECK_THROWS_AS(launched_node(of(one.variables)), InvalidArgument);
    for (const std::string& text : one.says) {
      CHECK_THROWS_WITH(launched_node(of(one.variables)), Contains(text));
    }
  }
  CHECK_FALSE(has_other_nodes(of({})));
  CHECK(has_other_nodes(of(mpirun + Variables{{"OMPI_COMM_WORLD_SIZE", "8"}})));
}

TEST_CASE("any text becomes the name of a group, and different ones different names") {
  CHECK(group_name_of("none@node0:29500") == "none@node0:29500");
  const std::string longest(limits::consumer_name_bytes_max, 'x');
  CHECK(group_name_of(longest) == longest);
  const std::vector<std::string> odd = {
      longest + "y", longest + "z", "a b", "a\tb", "a/b", "", "é"};
  std::vector<std::string> names;
  for (const std::string& text : odd) {
    const std::string name = group_name_of(text);
    INFO(name);
    CHECK(name == group_name_of(text));
    CHECK(Group(name + ":0/1").name == name);
    CHECK(std::find(names.begin(), names.end(), name) == names.end());
    names.push_back(name);
  }
  CHECK(group_name_of("a b").starts_with("a-b-"));
}
