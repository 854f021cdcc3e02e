#include "replay/json_reader.h"

#include <fmt/format.h>

#include <utility>

namespace replay {

JsonDocument::JsonDocument(std::string_view text, std::string_view file,
                           std::string_view what)
    : file_(file),
      what_(what),
      json_(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false)) {
  if (!json_.is_object()) {
    status_ = env::Status(env::Code::kInvalid,
                          fmt::format("{}: expected {}", file_, what_));
  }
}

JsonReader JsonDocument::root() {
  return {this, json_.is_object() ? &json_ : nullptr, ""};
}

void JsonDocument::Refuse(const std::string& path, std::string_view expected) {
  if (!status_.ok()) return;
  status_ = env::Status(
      env::Code::kInvalid,
      fmt::format("{}: {}: expected {} of {}", file_, path, expected, what_));
}

std::string JsonReader::PathOf(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void JsonReader::Refuse(std::string_view expected) {
  document_->Refuse(path_, expected);
}

const nlohmann::json* JsonReader::Find(const std::string& key,
                                       std::string_view expected) {
  if (json_ == nullptr) return nullptr;
  auto found = json_->find(key);
  if (found != json_->end()) return &*found;
  document_->Refuse(PathOf(key), expected);
  return nullptr;
}

uint64_t JsonReader::Count(const std::string& key) {
  const nlohmann::json* value = Find(key, "a count");
  if (value == nullptr) return 0;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  document_->Refuse(PathOf(key), "a count");
  return 0;
}

double JsonReader::Number(const std::string& key) {
  const nlohmann::json* value = Find(key, "a number");
  if (value == nullptr) return 0;
  if (value->is_number()) return value->get<double>();
  document_->Refuse(PathOf(key), "a number");
  return 0;
}

std::string JsonReader::Text(const std::string& key) {
  const nlohmann::json* value = Find(key, "a text");
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  document_->Refuse(PathOf(key), "a text");
  return "";
}

JsonReader JsonReader::Object(const std::string& key) {
  const nlohmann::json* value = Find(key, "an object");
  if (value != nullptr && !value->is_object()) {
    document_->Refuse(PathOf(key), "an object");
    value = nullptr;
  }
  return {document_, value, PathOf(key)};
}

std::map<std::string, uint64_t> JsonReader::Counts(const std::string& key) {
  JsonReader object = Object(key);
  std::map<std::string, uint64_t> counts;
  for (const std::string& name : object.Keys()) {
    counts[name] = object.Count(name);
  }
  return counts;
}

std::vector<JsonReader> JsonReader::Array(const std::string& key) {
  std::vector<JsonReader> readers;
  const nlohmann::json* value = Find(key, "an array");
  if (value == nullptr) return readers;
  if (!value->is_array()) document_->Refuse(PathOf(key), "an array");
  for (size_t i = 0; value->is_array() && i < value->size(); ++i) {
    const nlohmann::json& element = (*value)[i];
    JsonReader reader(document_, &element,
                      fmt::format("{}[{}]", PathOf(key), i));
    if (!element.is_object()) {
      reader.Refuse("an object");
      reader.json_ = nullptr;
    }
    readers.push_back(std::move(reader));
  }
  return readers;
}

std::vector<uint64_t> JsonReader::CountArray(const std::string& key) {
  std::vector<uint64_t> counts;
  const nlohmann::json* value = Find(key, "an array of counts");
  if (value == nullptr) return counts;
  bool as_expected = value->is_array();
  for (size_t i = 0; as_expected && i < value->size(); ++i) {
    as_expected = (*value)[i].is_number_unsigned();
    if (as_expected) counts.push_back((*value)[i].get<uint64_t>());
  }
  if (!as_expected) document_->Refuse(PathOf(key), "an array of counts");
  return counts;
}

std::vector<std::string> JsonReader::Keys() const {
  std::vector<std::string> keys;
  if (json_ == nullptr) return keys;
  for (const auto& item : json_->items()) keys.push_back(item.key());
  return keys;
}

}  // namespace replay
