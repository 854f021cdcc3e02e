// ClusterView: the files of one data directory, as a judge may read them.
#ifndef MUSTH_PROPERTIES_DECODERS_CLUSTER_VIEW_H_
#define MUSTH_PROPERTIES_DECODERS_CLUSTER_VIEW_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace properties {

class ClusterView {
 public:
  virtual ~ClusterView() = default;
  // The whole content, or null if there is no such file. Valid as long as the
  // view.
  virtual const std::string* Read(std::string_view path) const = 0;
  // Names in a directory, sorted; empty if there is none.
  virtual std::vector<std::string> List(std::string_view dir) const = 0;
};

// Files in memory, for tests.
class MemoryCluster : public ClusterView {
 public:
  void Put(std::string path, std::string content) {
    files_[std::move(path)] = std::move(content);
  }
  std::string& At(const std::string& path) { return files_[path]; }
  void Remove(const std::string& path) { files_.erase(path); }

  const std::string* Read(std::string_view path) const override {
    auto it = files_.find(path);
    return it == files_.end() ? nullptr : &it->second;
  }
  std::vector<std::string> List(std::string_view dir) const override {
    std::vector<std::string> names;
    std::string prefix = std::string(dir) + "/";
    for (const auto& [path, content] : files_) {
      if (path.compare(0, prefix.size(), prefix) != 0) continue;
      std::string name = path.substr(prefix.size());
      if (name.find('/') == std::string::npos) names.push_back(name);
    }
    return names;
  }

 private:
  std::map<std::string, std::string, std::less<>> files_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_CLUSTER_VIEW_H_
