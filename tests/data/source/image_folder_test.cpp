// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "data/source/image_folder/folder_index.hpp"
#include "source_support.hpp"

namespace fs = std::filesystem;
using batchcast::BadDataset;
using batchcast::BadSample;
using batchcast::open_source;
using namespace source_test;
using source_test::mentions;

namespace {

std::string spec_of(const TemporaryFolder& folder, const std::string& name = "data") {
  return "imagefolder:" + folder.path(name);
}

std::vector<std::string> names_of(const batchcast::Source& source) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < source.size(); ++i) names.push_back(source.name_of(i));
  return names;
}

std::string all_remarks(const batchcast::Source& source) {
  std::string text;
  for (const std::string& remark : source.remarks()) text += remark + "\n";
  return text;
}

void write_cats_and_dogs(const TemporaryFolder& folder) {
  folder.write("data/dog/2.jpg", "dog two");
  folder.write("data/dog/1.jpg", "dog 1");
  folder.write("data/cat/a b.png", "cat");
}

}  // namespace

TEST_CASE("an image folder gives files and labels, classes and files by their names' bytes") {
  const TemporaryFolder folder;
  folder.write("data/b/2.JPG", "b2");
  folder.write("data/b/10.jpeg", "b10");
  folder.write("data/b/x.WebP", "bx");
  folder.write("data/B/1.png", "B1");
  folder.write("data/a name/\xc3\xa9t\xc3\xa9.jpg", "summer");
  folder.write("data/\xc3\xa9/z.jpg", "z");
  const auto source = open_source(spec_of(folder));
  CHECK(std::vector<std::string>(source->class_names().begin(), source->class_names().end()) ==
        std::vector<std::string>{"B", "a name", "b", "\xc3\xa9"});
  CHECK(names_of(*source) == std::vector<std::string>{"B/1.png", "a name/\xc3\xa9t\xc3\xa9.jpg",
                                                      "b/10.jpeg", "b/2.JPG", "b/x.WebP",
                                                      "\xc3\xa9/z.jpg"});
  const std::vector<std::string> contents = {"B1", "summer", "b10", "b2", "bx", "z"};
  const std::vector<std::int64_t> labels = {0, 1, 2, 2, 2, 3};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    CHECK(part_of(*source, i, 0) == contents[i]);
    CHECK(label_of(*source, i) == labels[i]);
  }
  REQUIRE(source->parts().size() == 2);
  CHECK(source->parts()[0] ==
        batchcast::PartSpec{.name = "image", .kind = batchcast::PartKind::image});
  CHECK(source->parts()[1] == batchcast::PartSpec{.name = "label", .dtype = batchcast::DType::i64});
  CHECK_FALSE(source->in_memory());
  CHECK(source->remarks().empty());
}

// As a walk sorted by paths has it: `/` is a character among others.
TEST_CASE("folders inside a class are sorted by their whole paths") {
  const TemporaryFolder folder;
  for (const std::string name :
       {"x/y/1.jpg", "x/1.jpg", "x-z/1.jpg", "0.jpg", "z.jpg", "x0/1.jpg"}) {
    folder.write("data/c/" + name, "content");
  }
  CHECK(names_of(*open_source(spec_of(folder))) ==
        std::vector<std::string>{"c/0.jpg", "c/z.jpg", "c/x/1.jpg", "c/x-z/1.jpg", "c/x/y/1.jpg",
                                 "c/x0/1.jpg"});
}

TEST_CASE("links are followed, but not in circles") {
  const TemporaryFolder folder;
  folder.write("elsewhere/pictures/1.jpg", "one");
  folder.write("elsewhere/2.jpg", "two");
  folder.write("data/a/3.jpg", "three");
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("data/b"));
  fs::create_symlink(folder.path("elsewhere/2.jpg"), folder.path("data/a/link.jpg"));
  fs::create_directory_symlink(folder.path("data/a"), folder.path("data/a/circle"));
  fs::create_directory_symlink(folder.path("data"), folder.path("elsewhere/pictures/up"));
  const auto source = open_source(spec_of(folder));
  const std::vector<std::string> names = names_of(*source);
  const std::vector<std::string> expected = {"a/3.jpg", "a/link.jpg", "b/2.jpg",
                                             "b/pictures/1.jpg"};
  for (const std::string& name : expected) {
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
  CHECK(part_of(*source, 1, 0) == "two");
  CHECK(names.size() < 20);
  CHECK(mentions(all_remarks(*source), {"a/circle"}));
}

TEST_CASE("files of other kinds are counted, not served") {
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  folder.write("data/dog/old.BMP", "x");
  folder.write("data/dog/older.bmp", "x");
  folder.write("data/cat/Thumbs", "x");
  folder.write("data/loose.jpg", "x");
  folder.write("data/README", "x");
  const auto source = open_source(spec_of(folder));
  CHECK(source->size() == 3);
  CHECK(mentions(all_remarks(*source),
                 {"3 files left out", "2 .bmp", "1 of other kinds", "1 image beside"}));
}

TEST_CASE("a class without images is refused by name, unless it is allowed") {
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  folder.make_folder("data/bird");
  folder.write("data/ant/notes.txt", "x");
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder)),
                 {"2 of 4 classes", "ant, bird", "allow_empty"}));
  const auto source = open_source(spec_of(folder) + "?allow_empty=true");
  CHECK(source->class_names().size() == 4);
  CHECK(source->size() == 3);
  CHECK(label_of(*source, 0) == 2);
  CHECK(mentions(all_remarks(*source), {"2 of 4 classes", "ant, bird"}));
}

TEST_CASE("a class of files that are not read is refused with what they are") {
  const TemporaryFolder folder;
  folder.write("data/ant/1.bmp", "BM");
  folder.write("data/ant/2.bmp", "BM");
  folder.write("data/ant/notes.txt", "text");
  folder.write("data/cat/1.jpg", "cat");
  folder.make_folder("data/dog");
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder)),
                 {"2 of 3 classes have no JPEG, PNG or WebP file: ant (2 .bmp), dog.",
                  "Convert the files, remove the folders"}));
}

TEST_CASE("classes from a file have its order, and others are left out") {
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  folder.write("data/emu/1.jpg", "emu");
  const auto open = [&](const std::string& list) {
    folder.write("classes.txt", list);
    return open_source(spec_of(folder) + "?classes=" + folder.path("classes.txt"));
  };
  const auto turned = open("dog\r\n\n  \ncat\r\nemu");
  CHECK(std::vector<std::string>(turned->class_names().begin(), turned->class_names().end()) ==
        std::vector<std::string>{"dog", "cat", "emu"});
  CHECK(names_of(*turned) ==
        std::vector<std::string>{"dog/1.jpg", "dog/2.jpg", "cat/a b.png", "emu/1.jpg"});
  CHECK(label_of(*turned, 0) == 0);
  CHECK(label_of(*turned, 2) == 1);
  CHECK(part_of(*turned, 2, 0) == "cat");
  CHECK(turned->remarks().empty());

  const auto some = open(
      "\xef\xbb\xbf"
      "emu\n");
  CHECK(names_of(*some) == std::vector<std::string>{"emu/1.jpg"});
  CHECK(label_of(*some, 0) == 0);
  CHECK(all_remarks(*some).find("2 class folders not in") != std::string::npos);
  CHECK(all_remarks(*some).find("cat, dog") != std::string::npos);

  const auto all = open_source(spec_of(folder))->fingerprint();
  CHECK(open("cat\ndog\nemu\n")->fingerprint() == all);
  CHECK_FALSE(turned->fingerprint() == all);
  CHECK_FALSE(some->fingerprint() == all);
}

TEST_CASE("a file of classes is refused with the line and the name that are wrong") {
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  const auto refusal = [&](const std::string& list) {
    folder.write("classes.txt", list);
    return refusal_to_open<BadDataset>(spec_of(folder) + "?classes=" + folder.path("classes.txt"));
  };
  CHECK(mentions(refusal("dog\ncta\n"), {"classes.txt:2:", "no folder `cta`", "mean `cat`"}));
  CHECK(mentions(refusal("dog\ncat\n\ndog\n"), {"classes.txt:4:", "`dog`", "line 1"}));
  CHECK(mentions(refusal("\n\n"), {"names no class"}));
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder) + "?classes=" + folder.path("none")),
                 {"none is not there", "a class in each line"}));
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder) + "?classes=" + folder.path("data")),
                 {"cannot be read"}));
  CHECK_THROWS_AS(open_source(spec_of(folder) + "?classes="), batchcast::InvalidArgument);
}

TEST_CASE("datasets without anything to serve say what is expected") {
  const TemporaryFolder folder;
  folder.make_folder("data");
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder)), {"no folders", "CLASS/NAME.jpg"}));
  folder.write("data/1.jpg", "x");
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder)), {"1 image in it", "no folders"}));
  folder.make_folder("data/cat");
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder) + "?allow_empty=true"),
                 {"no images", "(cat)"}));
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder, "nowhere")),
                 {"nowhere", "No such file"}));
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder, "data/1.jpg")), {"Not a directory"}));
}

TEST_CASE("who opens the folder above train and val is told so") {
  const TemporaryFolder folder;
  folder.write("data/train/cat/1.jpg", "x");
  folder.write("data/val/cat/1.jpg", "x");
  CHECK(mentions(all_remarks(*open_source(spec_of(folder))),
                 {"train, val", "imagefolder:" + folder.path("data/train") + "?"}));
}

TEST_CASE("a class folder that cannot be read stops the opening") {
  if (::geteuid() == 0) return;  // nothing is closed to root
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  fs::permissions(folder.path("data/cat"), fs::perms::none);
  CHECK(mentions(refusal_to_open<BadDataset>(spec_of(folder)), {"data/cat", "Permission denied"}));
  fs::permissions(folder.path("data/cat"), fs::perms::owner_all);
}

TEST_CASE("a file that is gone, empty or no file is one bad sample") {
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  folder.write("data/cat/empty.jpg", "");
  REQUIRE(::mkfifo(folder.path("data/cat/fifo.jpg").c_str(), 0600) == 0);
  fs::create_symlink("nowhere", folder.path("data/cat/link.jpg"));
  const auto source = open_source(spec_of(folder));
  REQUIRE(source->size() == 6);
  const auto reason = [&](std::uint64_t sample) {
    return refusal<BadSample>([&] { return part_of(*source, sample, 0); });
  };
  CHECK(part_of(*source, 0, 0) == "cat");
  CHECK(reason(1) == "the file is empty");
  CHECK(reason(2) == "it is not a regular file");
  fs::resize_file(folder.path("data/cat/empty.jpg"), std::uintmax_t{5} << 30U);
  CHECK(reason(1) == "the file has 4 GiB or more");
  CHECK(mentions(reason(3), {"No such file or directory"}));
  fs::remove(folder.path("data/dog/2.jpg"));
  CHECK(reason(5) == "No such file or directory; it was there when the index was built");
  CHECK(part_of(*source, 4, 0) == "dog 1");
  fs::remove_all(folder.path("data"));
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    CHECK(mentions(reason(i), {"No such file or directory; it was there"}));
  }
}

TEST_CASE("a larger file after a smaller one, and the other way round, are read whole") {
  const TemporaryFolder folder;
  const std::string large(300'000, 'L');
  folder.write("data/c/1.jpg", "small");
  folder.write("data/c/2.jpg", large);
  folder.write("data/c/3.jpg", "tiny");
  const auto source = open_source(spec_of(folder));
  batchcast::SampleParts parts;
  const std::vector<std::string> expected = {"small", large, "tiny"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    source->read(i, parts);
    CHECK(source_test::text_of(parts[0]) == expected[i]);
  }
}

TEST_CASE("an image folder's fingerprint is of names and sizes, not of its place") {
  const TemporaryFolder folder;
  write_cats_and_dogs(folder);
  const auto first = open_source(spec_of(folder))->fingerprint();
  fs::copy(folder.path("data"), folder.path("copy"), fs::copy_options::recursive);
  CHECK(open_source(spec_of(folder, "copy"))->fingerprint() == first);
  CHECK(open_source(spec_of(folder, "copy") + "///")->fingerprint() == first);
  fs::rename(folder.path("copy/dog/1.jpg"), folder.path("copy/dog/0.jpg"));
  CHECK_FALSE(open_source(spec_of(folder, "copy"))->fingerprint() == first);
  fs::rename(folder.path("copy/dog/0.jpg"), folder.path("copy/dog/1.jpg"));
  CHECK(open_source(spec_of(folder, "copy"))->fingerprint() == first);
  folder.write("copy/dog/1.jpg", "dog 01");
  CHECK_FALSE(open_source(spec_of(folder, "copy"))->fingerprint() == first);
  folder.write("copy/dog/1.jpg", "dog 1");
  fs::rename(folder.path("copy/cat"), folder.path("copy/cab"));
  CHECK_FALSE(open_source(spec_of(folder, "copy"))->fingerprint() == first);
  fs::rename(folder.path("copy/cab"), folder.path("copy/cat"));
  CHECK(open_source(spec_of(folder, "copy"))->fingerprint() == first);
  // Its order, name and size stay, its place among the folders does not.
  folder.make_folder("copy/cat/below");
  fs::rename(folder.path("copy/cat/a b.png"), folder.path("copy/cat/below/a b.png"));
  CHECK_FALSE(open_source(spec_of(folder, "copy"))->fingerprint() == first);
}

TEST_CASE("many classes are read in order, whoever is quickest") {
  const TemporaryFolder folder;
  for (int c = 0; c < 300; ++c) {
    std::string name = std::to_string(c);
    name.insert(0, 3 - name.size(), '0');
    for (int i = 0; i <= c % 3; ++i) {
      folder.write("data/" + name + "/" + std::to_string(i) + ".jpg", name);
    }
  }
  const auto source = open_source(spec_of(folder));
  REQUIRE(source->size() == 600);
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    REQUIRE(std::stoll(part_of(*source, i, 0)) == label_of(*source, i));
  }
  CHECK(std::is_sorted(source->class_names().begin(), source->class_names().end()));
}

TEST_CASE("the index takes four bytes a file beyond the name") {
  batchcast::detail::ImageFolderIndex index;
  constexpr std::uint64_t folders = 100;
  constexpr std::uint64_t files = 1'300;
  std::uint64_t name_bytes = 0;
  for (std::uint64_t f = 0; f < folders; ++f) {
    index.begin_folder("n" + std::to_string(10'000'000 + f), static_cast<std::uint32_t>(f));
    for (std::uint64_t i = 0; i < files; ++i) {
      const std::string name =
          "n" + std::to_string(10'000'000 + f) + "_" + std::to_string(i) + ".JPEG";
      index.add_file(name);
      name_bytes += name.size() + 1;
    }
  }
  REQUIRE(index.size() == folders * files);
  const auto file = index[77 * files + 123];
  CHECK(file.folder == "n10000077");
  CHECK(file.name == "n10000077_123.JPEG");
  CHECK(file.label == 77);
  // Vectors are at most twice as large as what is in them.
  CHECK(index.byte_count() <= 2 * (name_bytes + 4 * index.size() + 64 * folders));
  // 1.3 million such files: 25 MB of names and offsets, of which at most twice is taken.
  const double per_file =
      static_cast<double>(index.byte_count()) / static_cast<double>(index.size());
  CHECK(per_file * 1.3e6 <= 150e6 / 2);
}
