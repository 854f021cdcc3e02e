// DirectoryView: a data directory of real files as a ClusterView.
//
// Files are read whole when first asked for and kept. What cannot be read is
// like a file that does not exist; unreadable() tells which.
#ifndef MUSTH_PROPERTIES_DIRECTORY_VIEW_H_
#define MUSTH_PROPERTIES_DIRECTORY_VIEW_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/decoders/cluster_view.h"

namespace properties {

class DirectoryView : public ClusterView {
 public:
  explicit DirectoryView(std::string root) : root_(std::move(root)) {}

  const std::string* Read(std::string_view path) const override;
  std::vector<std::string> List(std::string_view dir) const override;
  // Files that exist and could not be read, with the reason, sorted.
  const std::map<std::string, std::string>& unreadable() const {
    return unreadable_;
  }

 private:
  std::string root_;
  // Null: there is no such file.
  mutable std::map<std::string, std::unique_ptr<std::string>, std::less<>>
      files_;
  mutable std::map<std::string, std::string> unreadable_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DIRECTORY_VIEW_H_
