#include "sim/explore/key.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <type_traits>
#include <vector>

namespace stepsim {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_128bits_reset(state_.get()); }

  // Lengths stand before contents, so that no two lists run together.
  void text(std::string_view value) {
    number(static_cast<double>(value.size()));
    bytes(value.data(), value.size());
  }
  void number(double value) { bytes(&value, sizeof value); }
  template <class T>
  void numbers(const std::vector<T>& values) {
    static_assert(sizeof(T) == sizeof(double) && std::is_trivially_copyable_v<T>);
    number(static_cast<double>(values.size()));
    bytes(values.data(), values.size() * sizeof(T));
  }
  std::string hexadecimal() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  void bytes(const void* data, std::size_t size) { XXH3_128bits_update(state_.get(), data, size); }

  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::error_code ignored;
  if (!file || !std::filesystem::is_regular_file(path, ignored)) return "";
  std::string contents(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0).read(contents.data(), static_cast<std::streamsize>(contents.size()));
  return contents;
}

void add_passes(Hash& hash, const Schedule& schedule) {
  hash.number(schedule.stages);
  hash.number(schedule.microbatches);
  const auto add = [&](const std::vector<int>& list) {
    hash.number(static_cast<double>(list.size()));
    for (const int v : list) hash.number(v);
  };
  for (const auto& list : schedule.placement) add(list);
  for (const auto& list : schedule.direction) add(list);
  add(schedule.microbatch_direction);
  for (const auto& order : schedule.order) {
    hash.number(static_cast<double>(order.size()));
    for (const Pass& pass : order) {
      hash.number(static_cast<double>(pass.kind));
      hash.number(pass.microbatch);
      hash.number(pass.chunk);
      hash.number(pass.paired_with_next ? 1 : 0);
    }
  }
}

}  // namespace

const std::string& program_version() {
  static const std::string version =
      fmt::format("{}+{}", STEPSIM_VERSION, key_of_text(contents_of("/proc/self/exe")).substr(0, 12));
  return version;
}

std::string key_of_text(const std::string& text) {
  Hash hash;
  hash.text(text);
  return hash.hexadecimal();
}

const std::string& KeyMaker::hash_of_file(const std::string& path) {
  const auto [it, fresh] = files_.try_emplace(path);
  if (fresh) it->second = key_of_text(contents_of(path));
  return it->second;
}

std::string KeyMaker::key_of(const Inputs& in, const Options& options, const std::string& home, bool brief) {
  Hash hash;
  hash.text(program_version());
  hash.text(options.engine);
  hash.number(static_cast<double>(options.detail));
  hash.number(options.fold ? 1 : 0);
  hash.number(options.elasticities ? 1 : 0);
  hash.number(brief ? 1 : 0);
  std::vector<std::string> paths;
  for (const auto& [what, path] : in.files) paths.push_back(path);
  for (const Explained& e : in.explained) {
    hash.text(e.key);
    hash.text(e.value);
    const bool platform = e.key == "cluster.platform";
    if (!platform && e.key != "cluster.gpu") continue;
    // A path, relative to where it stands, or the name of a shipped one.
    if (e.where) paths.push_back((std::filesystem::path(e.where->folder()) / e.value).string());
    paths.push_back(home + (platform ? "/platforms/" : "/platforms/gpus/") + e.value + (platform ? ".xml" : ".yaml"));
  }
  for (const std::string& path : paths) hash.text(hash_of_file(path));
  for (const Override& set : in.set) {
    if (set.key.starts_with("scenario.")) hash.text(set.key + "=" + set.value);
  }
  for (const std::string& set : in.overrides) {
    if (set.starts_with("scenario.")) hash.text(set);  // its lists have entries that no key names
  }
  if (in.plan.passes) add_passes(hash, *in.plan.passes);
  for (const auto& counts : in.plan.routing.counts) hash.numbers(counts);
  hash.numbers(in.cluster.bandwidth);
  hash.numbers(in.cluster.latency);
  hash.numbers(in.cluster.speed);
  return hash.hexadecimal();
}

}  // namespace stepsim
