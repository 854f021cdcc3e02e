// LookupMap: a hash map that cannot be iterated, so that no run can come to
// depend on hash order.
#ifndef MUSTH_SIM_ENV_LOOKUP_MAP_H_
#define MUSTH_SIM_ENV_LOOKUP_MAP_H_

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

namespace env {

template <typename K, typename V, typename Hash = std::hash<K>>
class LookupMap {
 public:
  // The value, or null. Valid until the key is erased.
  V* Find(const K& key) {
    auto it = map_.find(key);
    return it == map_.end() ? nullptr : &it->second;
  }
  const V* Find(const K& key) const {
    auto it = map_.find(key);
    return it == map_.end() ? nullptr : &it->second;
  }
  bool Contains(const K& key) const { return map_.count(key) != 0; }

  // The value, default-constructed if absent.
  V& operator[](const K& key) { return map_[key]; }

  // Returns false, changing nothing, if the key is present.
  bool Insert(const K& key, V value) {
    return map_.emplace(key, std::move(value)).second;
  }
  bool Erase(const K& key) { return map_.erase(key) != 0; }
  void Clear() { map_.clear(); }
  void Reserve(size_t n) { map_.reserve(n); }
  size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }

 private:
  std::unordered_map<K, V, Hash> map_;
};

}  // namespace env

#endif  // MUSTH_SIM_ENV_LOOKUP_MAP_H_
