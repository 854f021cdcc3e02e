#include "properties/fan_out_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace properties {
namespace {

using sim::CrashKind;
using Mode = FanOutSpec::Mode;

constexpr std::string_view kPowerLoss = "power-loss";
constexpr std::string_view kProcessCrash = "process-crash";

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    size_t end = text.find(' ');
    if (end != 0) words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

env::Status Unexpected(std::string_view text) {
  return env::Status(
      env::Code::kInvalid,
      fmt::format(
          "expected \"lazy\" or \"eager\" with \"images N\", \"instants "
          "N\", \"at-crashes\"; \"exhaustive\"; or \"at STEP "
          "fork N power-loss|process-crash PATH [then STEP ...]\", found "
          "\"{}\"",
          text));
}

env::Result<FanOutAddress> ParseAddress(
    const std::vector<std::string_view>& words, std::string_view text) {
  FanOutAddress address;
  for (size_t at = 0; at < words.size(); at += 6) {
    if (at + 6 > words.size()) return Unexpected(text);
    FanOutCrash crash;
    bool good = words[at] == (at == 0 ? "at" : "then") &&
                ParseNumber(words[at + 1], &crash.step) &&
                words[at + 2] == "fork" &&
                ParseNumber(words[at + 3], &crash.fork) &&
                (words[at + 4] == kPowerLoss || words[at + 4] == kProcessCrash);
    if (!good) return Unexpected(text);
    crash.kind = words[at + 4] == kPowerLoss ? CrashKind::kPowerLoss
                                             : CrashKind::kProcess;
    ASSIGN_OR_RETURN(crash.path, sim::ParseImagePath(words[at + 5]));
    address.push_back(std::move(crash));
  }
  return address;
}

}  // namespace

std::string FanOutAddressToText(const FanOutAddress& address) {
  std::string text;
  for (const FanOutCrash& crash : address) {
    text += fmt::format(
        "{} {} fork {} {} {}", text.empty() ? "at" : " then", crash.step,
        crash.fork,
        crash.kind == CrashKind::kPowerLoss ? kPowerLoss : kProcessCrash,
        sim::ImagePathToText(crash.path));
  }
  return text;
}

std::string FanOutSpec::ToString() const {
  if (mode == Mode::kExhaustive) return "exhaustive";
  if (mode == Mode::kReplay) return FanOutAddressToText(address);
  return fmt::format("{} images {} instants {}{}",
                     mode == Mode::kEager ? "eager" : "lazy", images, instants,
                     at_crashes ? " at-crashes" : "");
}

env::Result<FanOutSpec> FanOutSpec::Parse(std::string_view text) {
  std::vector<std::string_view> words = Words(text);
  FanOutSpec spec;
  if (words.empty()) return Unexpected(text);
  if (words[0] == "at") {
    spec.mode = Mode::kReplay;
    ASSIGN_OR_RETURN(spec.address, ParseAddress(words, text));
    return spec;
  }
  if (words[0] == "exhaustive" && words.size() == 1) {
    spec.mode = Mode::kExhaustive;
    return spec;
  }
  if (words[0] != "lazy" && words[0] != "eager") return Unexpected(text);
  spec.mode = words[0] == "lazy" ? Mode::kLazy : Mode::kEager;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "at-crashes") {
      spec.at_crashes = true;
      continue;
    }
    uint32_t* number = words[i] == "images"     ? &spec.images
                       : words[i] == "instants" ? &spec.instants
                                                : nullptr;
    if (number == nullptr || i + 1 == words.size() ||
        !ParseNumber(words[++i], number)) {
      return Unexpected(text);
    }
  }
  return spec;
}

}  // namespace properties
