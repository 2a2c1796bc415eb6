// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "source_support.hpp"

using batchcast::BadDataset;
using batchcast::BadSample;
using batchcast::InvalidArgument;
using batchcast::open_source;
using namespace source_test;
using source_test::mentions;

namespace {

constexpr std::size_t image_bytes = 3072;

std::string record(const std::vector<int>& labels, char pixel) {
  std::string text;
  for (const int label : labels) text += static_cast<char>(label);
  return text + std::string(image_bytes, pixel);
}

const std::string ten_names =
    "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";

// Files of 1, 2, 3, 4 and 5 samples.
void write_cifar10(const TemporaryFolder& folder, const std::string& place) {
  for (int file = 1; file <= 5; ++file) {
    std::string content;
    for (int i = 0; i < file; ++i) content += record({i}, static_cast<char>('0' + file));
    folder.write(place + "/data_batch_" + std::to_string(file) + ".bin", content);
  }
  folder.write(place + "/test_batch.bin", record({9}, 't'));
  folder.write(place + "/batches.meta.txt", ten_names);
}

}  // namespace

TEST_CASE("CIFAR-10 is five files in a row, or the one to test with") {
  const TemporaryFolder folder;
  write_cifar10(folder, "cifar");
  const auto source = open_source("cifar10:" + folder.path("cifar"));
  REQUIRE(source->size() == 15);
  CHECK(source->parts()[0] == batchcast::PartSpec{.name = "image", .shape = {3, 32, 32}});
  CHECK(source->parts()[1] == batchcast::PartSpec{.name = "label", .dtype = batchcast::DType::i64});
  std::uint64_t sample = 0;
  for (int file = 1; file <= 5; ++file) {
    for (int i = 0; i < file; ++i, ++sample) {
      CHECK(part_of(*source, sample, 0) == std::string(image_bytes, static_cast<char>('0' + file)));
      CHECK(label_of(*source, sample) == i);
    }
  }
  CHECK(source->name_of(5) == "data_batch_3.bin[2]");
  CHECK(source->name_of(6) == "data_batch_4.bin[0]");
  CHECK(source->class_names().size() == 10);
  CHECK(source->class_names()[9] == "truck");
  CHECK(source->in_memory());
  const auto test = open_source("cifar10:" + folder.path("cifar") + "?split=test");
  REQUIRE(test->size() == 1);
  CHECK(label_of(*test, 0) == 9);
}

TEST_CASE("the folder above the one that the archive unpacks to will do") {
  const TemporaryFolder folder;
  write_cifar10(folder, "data/cifar-10-batches-bin");
  CHECK(open_source("cifar10:" + folder.path("data"))->size() == 15);
}

TEST_CASE("CIFAR-100 has two labels to choose from") {
  const TemporaryFolder folder;
  folder.write("c/train.bin", record({19, 99}, 'a') + record({3, 42}, 'b'));
  folder.write("c/test.bin", record({1, 2}, 'c'));
  std::string coarse;
  for (int i = 0; i < 20; ++i) coarse += "group " + std::to_string(i) + "\r\n";
  folder.write("c/coarse_label_names.txt", coarse);
  const std::string spec = "cifar100:" + folder.path("c");
  const auto fine = open_source(spec);
  REQUIRE(fine->size() == 2);
  CHECK(label_of(*fine, 0) == 99);
  CHECK(label_of(*fine, 1) == 42);
  CHECK(part_of(*fine, 1, 0) == std::string(image_bytes, 'b'));
  CHECK(fine->class_names().empty());
  const auto groups = open_source(spec + "?labels=coarse");
  CHECK(label_of(*groups, 0) == 19);
  CHECK(label_of(*groups, 1) == 3);
  REQUIRE(groups->class_names().size() == 20);
  CHECK(groups->class_names()[19] == "group 19");
  CHECK(groups->fingerprint().to_hex() == "8d6aa91710152afad5d9b66ccf474364");
  CHECK(fine->fingerprint().to_hex() == "ff0181303f5ea3d40abf2c8360849b2b");
  CHECK(label_of(*open_source(spec + "?split=test&labels=coarse"), 0) == 1);
  CHECK(mentions(refusal_to_open<InvalidArgument>(spec + "?labels=corse"), {"`coarse`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("cifar10:/x?labels=fine"), {"`labels`"}));
}

TEST_CASE("a label beyond the classes is one bad sample") {
  const TemporaryFolder folder;
  write_cifar10(folder, "c");
  folder.write("c/test_batch.bin", record({10}, 'x') + record({9}, 'y'));
  const auto source = open_source("cifar10:" + folder.path("c") + "?split=test");
  CHECK(refusal<BadSample>([&] { return part_of(*source, 0, 0); }) ==
        "its label is 10, and labels go from 0 to 9");
  CHECK(label_of(*source, 1) == 9);
}

TEST_CASE("CIFAR files that are missing, cut short or of the other version are refused") {
  const TemporaryFolder folder;
  write_cifar10(folder, "c");
  const std::string spec = "cifar10:" + folder.path("c");
  folder.write("c/data_batch_2.bin", record({1}, 'x').substr(1));
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"data_batch_2.bin", "3072", "3073"}));
  std::filesystem::remove(folder.path("c/data_batch_2.bin"));
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"data_batch_2.bin", "No such file"}));
  folder.write("python/cifar-10-batches-py/data_batch_1", "pickle");
  CHECK(mentions(refusal_to_open<BadDataset>("cifar10:" + folder.path("python")),
                 {"Python version", "cifar-10-batches-bin"}));
  folder.make_folder("empty");
  CHECK(mentions(refusal_to_open<BadDataset>("cifar10:" + folder.path("empty")),
                 {"has no data_batch_1.bin"}));
  CHECK(mentions(refusal_to_open<BadDataset>("cifar100:" + folder.path("none")),
                 {"no such folder", "cifar-100-binary"}));
  folder.write("hollow/test.bin", "");
  CHECK(mentions(refusal_to_open<BadDataset>("cifar100:" + folder.path("hollow") + "?split=test"),
                 {"no samples"}));
}

TEST_CASE("what is odd about CIFAR files is remarked") {
  const TemporaryFolder folder;
  write_cifar10(folder, "c");
  folder.write("c/batches.meta.txt", "cat\ndog\n");
  const auto source = open_source("cifar10:" + folder.path("c") + "?split=test");
  CHECK(source->class_names().empty());
  REQUIRE(source->remarks().size() == 2);
  CHECK(mentions(source->remarks()[0], {"test_batch.bin", "1 sample", "10000"}));
  CHECK(mentions(source->remarks()[1], {"batches.meta.txt", "2 classes"}));

  const std::string names = folder.path("c/batches.meta.txt");
  std::filesystem::remove(names);
  REQUIRE(::mkfifo(names.c_str(), 0600) == 0);  // no process writes to it
  CHECK(open_source("cifar10:" + folder.path("c") + "?split=test")->class_names().empty());
}

TEST_CASE("CIFAR's fingerprint is of names and sizes") {
  const TemporaryFolder folder;
  write_cifar10(folder, "a");
  write_cifar10(folder, "b/cifar-10-batches-bin");
  const auto first = open_source("cifar10:" + folder.path("a"))->fingerprint();
  CHECK(first.to_hex() == "d3ebe3d07a18fa091af9a19970fadb40");
  CHECK(open_source("cifar10:" + folder.path("b"))->fingerprint() == first);
  CHECK_FALSE(open_source("cifar10:" + folder.path("a") + "?split=test")->fingerprint() == first);
  folder.write("a/data_batch_5.bin", record({1}, 'x'));
  CHECK_FALSE(open_source("cifar10:" + folder.path("a"))->fingerprint() == first);
}
