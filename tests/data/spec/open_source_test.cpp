// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "catch.hpp"
#include "data/source/source_options.hpp"
#include "data/source/source_support.hpp"

using batchcast::BadDataset;
using batchcast::InvalidArgument;
using batchcast::detail::SourceOptions;
using namespace source_test;
using source_test::refusal;

TEST_CASE("an unknown kind is refused with the nearest one, or with all") {
  CHECK(mentions(refusal_to_open<InvalidArgument>("imagefoldr:/data"), {"`imagefolder`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("image-folder:/data"), {"`imagefolder`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("cifar:/data"), {"`cifar10`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("zarr:/data"),
                 {"imagefolder", "tokens", "synthetic"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("synthetc:8"), {"`synthetic`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("mnist:/data"), {"`idx:/data`", "synthetic"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("synthetic:1000"), {"`synthetic:`", "made"}));
}

TEST_CASE("what Python reads is known, and refused here") {
  for (const char* spec : {"python:module:factory", "huggingface:/data", "parquet:/data"}) {
    CHECK(
        mentions(refusal_to_open<InvalidArgument>(spec), {"read by Python", "`batchcast serve`"}));
  }
}

TEST_CASE("a path without a kind is answered with what to write") {
  const TemporaryFolder folder;
  const auto answer = [](const std::string& path) {
    return refusal_to_open<InvalidArgument>(path);
  };
  folder.write("classes/cat/a.jpg", "x");
  CHECK(mentions(answer(folder.path("classes")), {"`imagefolder:" + folder.path("classes") + "`"}));
  folder.write("mnist/train-images-idx3-ubyte.gz", "x");
  CHECK(mentions(answer(folder.path("mnist")), {"`idx:" + folder.path("mnist") + "`"}));
  folder.write("cifar/cifar-10-batches-bin/test_batch.bin", "x");
  CHECK(mentions(answer(folder.path("cifar")), {"`cifar10:" + folder.path("cifar") + "`"}));
  folder.write("shards/s-0.tar", "x");
  CHECK(mentions(answer(folder.path("shards")),
                 {"`webdataset:" + folder.path("shards") + "/*.tar`"}));
  CHECK(mentions(answer("a/x.npy"), {"`npy:a/x.npy`"}));
  CHECK(mentions(answer("train.bin"),
                 {"`tokens:train.bin?dtype=u16&length=1024`", "without `length`"}));
  CHECK(mentions(answer("s-{0..9}.tar.gz"), {"`webdataset:s-{0..9}.tar.gz`"}));
  CHECK(mentions(answer("/nowhere/at:all"), {"KIND", "imagefolder:DIR"}));
  CHECK(mentions(answer("/nowhere/at:all"), {"any length npy:x=ROWS.npy,x.offsets=OFFSETS.npy"}));
  CHECK(mentions(answer(""), {"KIND"}));
  CHECK(mentions(answer("imagefolder"), {"KIND"}));
}

TEST_CASE("a kind without a place is answered with an example") {
  CHECK(mentions(refusal_to_open<InvalidArgument>("npy:"), {"npy:images.npy,labels.npy"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:?length=3"), {"tokens:FILE"}));
}

TEST_CASE("places in a network, and commands, are answered with what to do instead") {
  const auto answer = [](const std::string& spec) {
    return refusal_to_open<InvalidArgument>(spec);
  };
  CHECK(mentions(answer("webdataset:https://host/a-{000..099}.tar"), {"https://host", "curl"}));
  CHECK(mentions(answer("webdataset:/data/a.tar,http://host/b.tar?x=1"), {"curl"}));
  CHECK(mentions(answer("webdataset:s3://bucket/a.tar"), {"aws s3 sync", "mount-s3"}));
  CHECK(mentions(answer("webdataset:gs://bucket/a.tar"), {"gcsfuse"}));
  CHECK(mentions(answer("webdataset:hf://datasets/a/b"), {"hf download"}));
  CHECK(mentions(answer("webdataset:pipe:curl -s https://host/a.tar"), {">DIR/shard.tar"}));
  CHECK(mentions(answer("imagefolder:file:///data"), {"path alone"}));
  CHECK(mentions(answer("tokens:azure+blob://x/t.bin?length=4"), {"Copy it"}));
  CHECK(mentions(answer("https://host/a.tar"), {"curl"}));
  CHECK(mentions(answer("pipe:cat a.tar"), {">DIR/shard.tar"}));
  // A path with two slashes is a path.
  CHECK(mentions(refusal_to_open<BadDataset>("imagefolder://nowhere"), {"//nowhere"}));
}

TEST_CASE("an option that a source does not have is refused with the nearest one") {
  CHECK(mentions(refusal_to_open<InvalidArgument>("idx:/nowhere?splti=test"),
                 {"`idx:`", "`splti`", "`split`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("imagefolder:/nowhere?shuffle=true"),
                 {"`shuffle`", "`allow_empty`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("npy:/nowhere.npy?x=1"), {"`x`", "none"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("imagefolder:/nowhere?allow_empty"),
                 {"`allow_empty`", "key=value"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("imagefolder:/nowhere?allow_empty=maybe"),
                 {"`allow_empty`", "`maybe`", "`true`"}));
}

TEST_CASE("a question mark that begins no options belongs to the name") {
  CHECK(
      mentions(refusal_to_open<BadDataset>("imagefolder:/nowhere/what?/a"), {"/nowhere/what?/a"}));
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:/nowhere/t??.bin?length=4"), {"t??.bin"}));
}

TEST_CASE("options are read by type") {
  const SourceOptions options("kind", "count=12&on=yes&off=false&which=test&empty=&path=/a=b?c");
  CHECK(options.number("count") == 12);
  CHECK(options.boolean("on", false));
  CHECK_FALSE(options.boolean("off", true));
  CHECK(options.boolean("not there", true));
  CHECK(options.one_of("which", {"train", "test"}) == "test");
  CHECK(options.one_of("not there", {"train", "test"}) == "train");
  CHECK(options.value_of("empty") == "");
  CHECK(options.value_of("path") == "/a=b?c");
  CHECK_FALSE(options.value_of("not there"));
  CHECK_FALSE(options.number("not there"));
}

TEST_CASE("options of the wrong type are refused by name") {
  const SourceOptions options("kind", "a=-1&b=1.5&c=99999999999999999999&d=&e=0x10&f=trian");
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    CHECK(mentions(refusal<InvalidArgument>([&] { return options.number(key); }),
                   {"`kind:`", "`" + key + "`"}));
  }
  CHECK(mentions(refusal<InvalidArgument>([&] {
                   return options.one_of("f", {"train", "test"});
                 }),
                 {"`trian`", "`train`?"}));
  CHECK(mentions(refusal<InvalidArgument>([] { return SourceOptions("kind", "a=1&a=2"); }),
                 {"`a`", "twice"}));
  CHECK_FALSE(refusal<InvalidArgument>([] { return SourceOptions("kind", "=1"); }).empty());
  CHECK_FALSE(refusal<InvalidArgument>([] { return SourceOptions("kind", "a=1&&b=2"); }).empty());
}

TEST_CASE("a tilde behind the colon is the home folder") {
  const char* const home = std::getenv("HOME");
  if (home == nullptr) return;
  CHECK(mentions(refusal_to_open<BadDataset>("imagefolder:~/not there at all"),
                 {std::string(home) + "/not there at all"}));
}
