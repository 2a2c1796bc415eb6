// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/data/source.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/source/read_by_python.hpp"
#include "data/source/source_kinds.hpp"
#include "data/spec/remote_place.hpp"
#include "data/spec/source_kind_names.hpp"

namespace batchcast::inline v0_1 {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Source> (*open)(std::string_view rest, const detail::SourceOptions& options);
  std::string_view example;
  std::string_view any_length = {};  ///< how samples of any length are written
};

constexpr std::array kinds = {
    Kind{"imagefolder", detail::open_imagefolder, "imagefolder:DIR"},
    Kind{"webdataset", detail::open_webdataset, "webdataset:DIR/shard-{000..099}.tar"},
    Kind{"idx", detail::open_idx, "idx:DIR"},
    Kind{"cifar10", detail::open_cifar10, "cifar10:DIR"},
    Kind{"cifar100", detail::open_cifar100, "cifar100:DIR"},
    Kind{"npy", detail::open_npy, "npy:images.npy,labels.npy",
         "npy:x=ROWS.npy,x.offsets=OFFSETS.npy"},
    Kind{"tokens", detail::open_tokens, "tokens:FILE?dtype=u16&length=1024",
         "tokens:FILE?dtype=u16"},
    Kind{"megatron", detail::open_megatron, "megatron:PREFIX", "megatron:PREFIX"},
};

struct OtherNames {
  std::string_view kind;
  std::string_view names;
};

// What people call such data, between blanks, and the kind that reads it.
constexpr std::array other_names = {
    OtherNames{"idx", " mnist fashion-mnist fashion_mnist fashionmnist kmnist emnist "},
    OtherNames{"imagefolder", " imagenet images folder dir "},
    OtherNames{"webdataset", " tar wds "},
    OtherNames{"npy", " numpy "},
    OtherNames{"tokens", " bin "},
    OtherNames{"megatron", " mmap indexed indexed_dataset "},
    OtherNames{"synthetic", " fake "},
};

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

// File names and patterns may contain `?`: only text that looks like options is taken for them.
std::pair<std::string_view, std::string_view> split_options(std::string_view rest) {
  const std::size_t mark = rest.rfind('?');
  if (mark == std::string_view::npos) return {rest, {}};
  const std::string_view tail = rest.substr(mark + 1);
  if (!is_word(tail.substr(0, tail.find('=')))) return {rest, {}};
  return {rest.substr(0, mark), tail};
}

std::string without_ending(const std::string& path) { return path.substr(0, path.rfind('.')); }

bool is_megatron(const std::string& bin) { return detail::is_there(without_ending(bin) + ".idx"); }

// How to write the source at a plain path; empty where nothing is there.
std::string spec_for(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path place(path);
  if (!std::filesystem::is_directory(place, ignored)) {
    if (path.ends_with(".npy")) return "npy:" + path;
    if (path.ends_with(".bin") && is_megatron(path)) return "megatron:" + without_ending(path);
    if (path.ends_with(".idx")) return "megatron:" + without_ending(path);
    if (path.ends_with(".bin")) return text("tokens:{}?dtype=u16&length=1024", path);
    if (path.find(".tar") != std::string::npos) return "webdataset:" + path;
    return {};
  }
  for (const auto& entry : std::filesystem::directory_iterator(place, ignored)) {
    const std::string name = entry.path().filename();
    if (name.find("-images") != std::string::npos && name.find("idx3") != std::string::npos) {
      return "idx:" + path;
    }
    if (name == "data_batch_1.bin" || name == "cifar-10-batches-bin") return "cifar10:" + path;
    if (name == "fine_label_names.txt" || name == "cifar-100-binary") return "cifar100:" + path;
    if (name.ends_with(".tar")) return "webdataset:" + (place / "*.tar").string();
  }
  return "imagefolder:" + path;
}

[[noreturn]] void refuse_path(const std::string& spec) {
  std::string hint = spec_for(spec);
  if (spec.ends_with(".npz")) {
    hint =
        " An .npz is several arrays in one archive: save each with np.save and write "
        "`npy:A.npy,B.npy`.";
  } else if (!hint.empty()) {
    const bool has_length = hint.ends_with("&length=1024");
    hint = text(" Write `{}`{}.", hint,
                has_length ? ", without `length` for samples of any length" : "");
  } else {
    hint =
        detail::is_there(spec) ? " Write KIND: before it, one of:" : " Write KIND:PATH, such as:";
    hint += text(" {}.", detail::source_examples());
  }
  throw InvalidArgument(
      text("batchcast: `{}` does not say what kind of dataset it is.{}", spec, hint));
}

[[noreturn]] void refuse_kind(const std::string& name, const std::string& rest) {
  const std::vector<std::string> names = detail::source_kind_names();
  std::string hint = detail::did_you_mean(name, names);
  for (const auto& [kind, others] : other_names) {
    if (others.find(text(" {} ", name)) == others.npos) continue;
    hint = text(" Such data is read as `{}`: write `{}:{}`.", kind, kind, rest);
  }
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw InvalidArgument(
      text("batchcast: there is no kind of dataset `{}`.{} There are {}.", name, hint, list));
}

}  // namespace

std::vector<std::string> detail::source_kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  names.emplace_back("synthetic");
  return names;
}

std::string detail::source_examples() {
  std::string examples;
  std::string any_length;
  for (const Kind& kind : kinds) {
    examples += text("{}{}", examples.empty() ? "" : ", ", kind.example);
    if (kind.any_length.empty()) continue;
    any_length += text("{}{}", any_length.empty() ? "" : ", ", kind.any_length);
  }
  return text("{}; with samples of any length {}", examples, any_length);
}

std::unique_ptr<Source> open_source(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  if (colon == std::string_view::npos || !is_word(spec.substr(0, colon))) {
    refuse_path(std::string(spec));
  }
  const std::string_view name = spec.substr(0, colon);
  if (name == "synthetic") {
    throw InvalidArgument(
        "batchcast: `synthetic:` is no dataset: its samples are made, not read. It can be served, "
        "but not opened, checked or given stages.");
  }
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.name == name; });
  if (kind == kinds.end()) {
    detail::refuse_remote(spec, spec);
    if (detail::is_read_by_python(spec)) {
      throw InvalidArgument(
          text("batchcast: `{}` is read by Python. `batchcast serve` and `batchcast ensure` take "
               "it, and bc.serve in a program; it can be opened by nothing else. Once it is "
               "served, `batchcast inspect STREAM` says what it consists of.",
               spec));
    }
    if (detail::is_text(spec)) {
      throw InvalidArgument(
          text("batchcast: `{}` is text, and samples are tokens. `batchcast tokenize` makes a "
               "corpus of it, which is read as `megatron:PREFIX`; `batchcast serve` does both with "
               "--tokenizer.",
               spec));
    }
    refuse_kind(std::string(name), std::string(spec.substr(colon + 1)));
  }
  detail::refuse_remote(spec, spec.substr(colon + 1));
  const auto [rest, options] = split_options(spec.substr(colon + 1));
  if (rest.empty()) {
    throw InvalidArgument(text("batchcast: `{}` does not say where the dataset is: write `{}`.",
                               spec, kind->example));
  }
  return kind->open(rest, detail::SourceOptions(name, options));
}

}  // namespace batchcast::inline v0_1
