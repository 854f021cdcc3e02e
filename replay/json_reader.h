// JsonReader: takes apart JSON that a person hands over. What is missing or of
// another kind is remembered once, by its path, and reads as nothing, so that a
// reader looks at the status when it is done.
#ifndef MUSTH_REPLAY_JSON_READER_H_
#define MUSTH_REPLAY_JSON_READER_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/status.h"

namespace replay {

class JsonDocument;

// One object of a document, which outlives it.
class JsonReader {
 public:
  uint64_t Count(const std::string& key);
  double Number(const std::string& key);
  std::string Text(const std::string& key);
  // An object whose values are counts.
  std::map<std::string, uint64_t> Counts(const std::string& key);
  JsonReader Object(const std::string& key);
  // An array of objects; of counts.
  std::vector<JsonReader> Array(const std::string& key);
  std::vector<uint64_t> CountArray(const std::string& key);
  // Of this object, in the order of their bytes.
  std::vector<std::string> Keys() const;
  // This object is not what it should be.
  void Refuse(std::string_view expected);

 private:
  friend class JsonDocument;
  JsonReader(JsonDocument* document, const nlohmann::json* json,
             std::string path)
      : document_(document), json_(json), path_(std::move(path)) {}
  // Null, and refused, unless the key is there.
  const nlohmann::json* Find(const std::string& key, std::string_view expected);
  std::string PathOf(const std::string& key) const;

  JsonDocument* document_;
  const nlohmann::json* json_;  // an object, or null after a failure
  std::string path_;
};

class JsonDocument {
 public:
  // file and what it should be are for messages.
  JsonDocument(std::string_view text, std::string_view file,
               std::string_view what);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonReader root();
  // Errors: kInvalid: the first thing that was not as expected.
  const env::Status& status() const { return status_; }

 private:
  friend class JsonReader;
  void Refuse(const std::string& path, std::string_view expected);

  std::string file_;
  std::string what_;
  nlohmann::json json_;
  env::Status status_;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_JSON_READER_H_
