#include "replay/recipe.h"

#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>
#include <boost/version.hpp>
#include <charconv>
#include <utility>

#include "engine/common/sites.h"
#include "faults/atlas.h"
#include "faults/directions.h"
#include "faults/planted_bugs.h"
#include "faults/profile.h"
#include "faults/swarm.h"
#include "replay/user_files.h"

// libpg_query's release has no macro; PostgreSQL's version is what decides.
#include <pg_query.h>

namespace replay {
namespace {

constexpr std::string_view kMagic = "musth-recipe";
constexpr std::string_view kVersion = "musth-0.1";
// By sim::Base.
constexpr std::string_view kBases[] = {"seed", "zero", "schedule"};

bool ParseUint(std::string_view text, int base, uint64_t* value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

// Up to the first blank; the rest goes to *rest without that blank.
std::string_view FirstWord(std::string_view line, std::string_view* rest) {
  size_t blank = line.find(' ');
  *rest = blank == std::string_view::npos ? "" : line.substr(blank + 1);
  return line.substr(0, blank);
}

// Splits a text into lines; a last line without a line break counts.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool Next(std::string_view* line) {
    if (rest_.empty()) return false;
    size_t end = rest_.find('\n');
    *line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    return true;
  }
  // Of the line that Next gave last, from 1.
  int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

// A block of lines, and the number and name before it.
struct Block {
  uint32_t number = 0;
  std::string name;
  std::string text;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view file)
      : lines_(text), file_(file) {}

  env::Result<Recipe> Parse() {
    RETURN_IF_ERROR(ParseMagic());
    std::string_view line;
    while (lines_.Next(&line)) {
      if (line.empty()) continue;
      if (line[0] == '#') {
        recipe_.comments.emplace_back(line.substr(1));
        continue;
      }
      RETURN_IF_ERROR(ParseLine(line));
    }
    return std::move(recipe_);
  }

 private:
  env::Status Error(std::string_view message) const {
    return ErrorAt(lines_.number(), message);
  }
  env::Status ErrorAt(int line, std::string_view message) const {
    return env::Status(env::Code::kInvalid,
                       fmt::format("{}:{}: {}", file_, line, message));
  }
  // The message of a failed check, with file and line.
  env::Status At(const env::Status& status) const {
    return status.ok() ? status : Error(status.message());
  }

  env::Status ParseMagic();
  env::Status ParseLine(std::string_view line);
  env::Status ParseValue(std::string_view key, std::string_view value);
  env::Status ParseDirection(std::string_view line);
  env::Status ParseBlockHead(std::string_view key, std::string_view value,
                             std::string_view* head, Block* block);
  env::Status TakeBlock(std::string_view key, Block block);
  env::Status ParseSpecList(std::string_view key, std::string_view value);
  env::Status ParseExpectGap(std::string_view value);
  env::Status ParseBlock(std::string_view key, std::string_view value);
  env::Status Once(std::string_view key);

  Lines lines_;
  std::string_view file_;
  Recipe recipe_;
  faults::Directions directions_;
  std::vector<std::string> seen_;
};

env::Status Parser::ParseMagic() {
  std::string_view line;
  std::string_view version;
  if (!lines_.Next(&line) || FirstWord(line, &version) != kMagic) {
    return ErrorAt(1, fmt::format("expected \"{} {}\" in the first line, "
                                  "found \"{}\"",
                                  kMagic, kRecipeFormat, line.substr(0, 60)));
  }
  if (version != fmt::format("{}", kRecipeFormat)) {
    return Error(fmt::format("recipe of format {}, expected format {}", version,
                             kRecipeFormat));
  }
  return env::Status();
}

env::Status Parser::Once(std::string_view key) {
  if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) {
    return Error(fmt::format("expected one \"{}\" line, found a second", key));
  }
  seen_.emplace_back(key);
  return env::Status();
}

env::Status Parser::ParseLine(std::string_view line) {
  std::string_view value;
  std::string_view key = FirstWord(line, &value);
  if (key == "knob" || key == "planted" || key == "edit" || key == "override" ||
      key == "schedule") {
    return ParseSpecList(key, value);
  }
  if (key == "expect-gap") return ParseExpectGap(value);
  if (faults::IsDirectionWord(key)) return ParseDirection(line);
  if (key == "script" || key == "setup" || key == "session")
    return ParseBlock(key, value);
  return ParseValue(key, value);
}

env::Status Parser::ParseValue(std::string_view key, std::string_view value) {
  properties::RunSpec& spec = recipe_.spec;
  if (key == "build") {
    recipe_.build = value;
  } else if (key == "base") {
    auto name = std::find(std::begin(kBases), std::end(kBases), value);
    if (name == std::end(kBases)) {
      return Error(fmt::format(
          "expected base seed, zero or schedule, found \"{}\"", value));
    }
    spec.base = static_cast<sim::Base>(name - std::begin(kBases));
  } else if (key == "seed") {
    if (!ParseUint(value, 10, &spec.seed)) {
      return Error(
          fmt::format("expected a seed from 0 to 2^64-1, found \"{}\"", value));
    }
  } else if (key == "mode") {
    if (value != "explore") {
      return Error(fmt::format("expected mode explore, found \"{}\"", value));
    }
    spec.mode = value;
  } else if (key == "profile") {
    RETURN_IF_ERROR(At(faults::CheckProfileName(value)));
    spec.profile = value;
  } else if (key == "books") {
    if (value != "pairs" && value != "all") {
      return Error(
          fmt::format("expected books pairs or all, found \"{}\"", value));
    }
    spec.books =
        value == "all" ? properties::Books::kAll : properties::Books::kPairs;
  } else if (key == "fan-out") {
    env::Result<properties::FanOutSpec> parsed =
        properties::FanOutSpec::Parse(value);
    if (!parsed.ok()) return At(parsed.status());
    spec.fan_out = std::move(parsed).value();
  } else if (key == "expect-promise") {
    if (value.empty()) return Error("expected a promise's tag");
    recipe_.expect_promise = value;
  } else if (key == "expect-hash") {
    uint64_t hash = 0;
    if (value.size() != 16 || !ParseUint(value, 16, &hash)) {
      return Error(
          fmt::format("expected 16 hexadecimal digits, found \"{}\"", value));
    }
    recipe_.expect_hash = hash;
  } else {
    return Error(fmt::format(
        "unknown word \"{}\", expected build, base, seed, mode, profile, knob, "
        "planted, edit, override, schedule, setup, script, session, crash, "
        "image, fail, hold, books, fan-out, expect-promise, expect-gap, "
        "expect-hash "
        "or #",
        key));
  }
  return Once(key);
}

env::Status Parser::ParseDirection(std::string_view line) {
  RETURN_IF_ERROR(
      At(faults::AddDirection(line, engine::EngineSites(), &directions_)));
  recipe_.spec.directions.emplace_back(line);
  return env::Status();
}

env::Status Parser::ParseSpecList(std::string_view key,
                                  std::string_view value) {
  properties::RunSpec& spec = recipe_.spec;
  if (key == "knob") {
    std::string_view text;
    std::string_view name = FirstWord(value, &text);
    faults::Knobs scratch;
    RETURN_IF_ERROR(At(faults::SetKnob(&scratch, name, text)));
    spec.knobs.emplace_back(name, text);
  } else if (key == "planted") {
    if (faults::FindPlantedBug(value) == nullptr) {
      return Error(
          fmt::format("expected a planted bug's name, found \"{}\"", value));
    }
    spec.planted.emplace_back(value);
  } else if (key == "edit") {
    if (value.empty()) return Error("expected a plan edit, found none");
    spec.plan_edits.emplace_back(value);
  } else if (key == "schedule") {
    env::Result<sim::ScheduleEntry> parsed = sim::ScheduleEntry::Parse(value);
    if (!parsed.ok()) return At(parsed.status());
    spec.schedule.push_back(std::move(parsed).value());
  } else {
    env::Result<sim::Override> parsed = sim::Override::Parse(value);
    if (!parsed.ok()) return At(parsed.status());
    spec.overrides.push_back(std::move(parsed).value());
  }
  return env::Status();
}

env::Status Parser::ParseExpectGap(std::string_view value) {
  const faults::ContractRow* row = faults::FindRow(value);
  if (row == nullptr || !row->IsKnownGap()) {
    return Error(fmt::format(
        "expected a contract row that is a known gap, found \"{}\"", value));
  }
  recipe_.expect_gaps.emplace_back(value);
  return env::Status();
}

// What stands before the "<<END" of a block's first line.
env::Status Parser::ParseBlockHead(std::string_view key, std::string_view value,
                                   std::string_view* head, Block* block) {
  *head = value;
  if (key == "setup") return env::Status();
  uint64_t limit = key == "script" ? 1'000'000 : 100;
  uint64_t number = 0;
  if (!ParseUint(FirstWord(value, head), 10, &number) || number == 0 ||
      number > limit) {
    return Error(key == "script" ? "expected \"script WEIGHT NAME <<END\" with "
                                   "a weight of 1..1000000"
                                 : "expected \"session NUMBER <<END\" with a "
                                   "number of 1..100");
  }
  block->number = static_cast<uint32_t>(number);
  for (const properties::SessionSource& other : recipe_.spec.sessions) {
    if (key != "session" || other.number != block->number) continue;
    return Error(
        fmt::format("expected one session {}, found a second", block->number));
  }
  return env::Status();
}

// "setup name <<END", "setup <<END", "session 1 <<END" or "script 2 name
// <<-END", the lines, "END".
env::Status Parser::ParseBlock(std::string_view key, std::string_view value) {
  int first_line = lines_.number();
  Block block;
  std::string_view head;
  RETURN_IF_ERROR(ParseBlockHead(key, value, &head, &block));
  size_t mark = head.rfind("<<");
  bool marked =
      mark != std::string_view::npos &&
      (mark > 0 ? head[mark - 1] == ' ' && key != "session" : key != "script");
  std::string_view word = marked ? head.substr(mark + 2) : "";
  bool cut_last_break = word.substr(0, 1) == "-";
  if (cut_last_break) word.remove_prefix(1);
  if (word.empty()) {
    return Error(
        fmt::format("expected \"<<END\" at the end of the {} line", key));
  }
  if (mark > 0) block.name = head.substr(0, mark - 1);
  std::string_view line;
  bool closed = false;
  while (!closed && lines_.Next(&line)) {
    closed = line == word;
    if (!closed) block.text.append(line).push_back('\n');
  }
  if (!closed) {
    return ErrorAt(first_line, fmt::format("expected a line \"{}\" that ends "
                                           "the {} that begins here",
                                           word, key));
  }
  if (cut_last_break && !block.text.empty()) block.text.pop_back();
  return TakeBlock(key, std::move(block));
}

env::Status Parser::TakeBlock(std::string_view key, Block block) {
  properties::RunSpec& spec = recipe_.spec;
  if (key == "script") {
    properties::ScriptSource script;
    script.name = std::move(block.name);
    script.text = std::move(block.text);
    script.weight = block.number;
    spec.scripts.push_back(std::move(script));
    return env::Status();
  }
  if (key == "session") {
    spec.sessions.push_back({block.number, std::move(block.text)});
    return env::Status();
  }
  spec.setup_sql = std::move(block.text);
  if (!block.name.empty()) spec.setup_name = std::move(block.name);
  return Once(key);
}

// A word that is no line of the text.
std::string EndWord(std::string_view text) {
  std::string word = "END";
  for (int i = 1;; ++i) {
    bool taken = false;
    Lines lines(text);
    std::string_view line;
    while (lines.Next(&line)) taken |= line == word;
    if (!taken) return word;
    word = fmt::format("END{}", i);
  }
}

void AppendBlock(std::string* out, std::string_view head,
                 std::string_view text) {
  std::string word = EndWord(text);
  bool broken_off = !text.empty() && text.back() != '\n';
  *out += fmt::format("{} <<{}{}\n", head, broken_off ? "-" : "", word);
  *out += text;
  if (broken_off) *out += '\n';
  *out += word + "\n";
}

// Keeps a text in its line.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = '?';
  }
  return text;
}

}  // namespace

std::string BuildId() {
  return fmt::format("{} lz4-{} fmt-{}.{}.{} boost-{}.{} pg_query-{}", kVersion,
                     LZ4_VERSION_STRING, FMT_VERSION / 10000,
                     FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                     BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                     PG_VERSION);
}

std::string FormatRecipe(const Recipe& recipe) {
  const properties::RunSpec& spec = recipe.spec;
  std::string out = fmt::format("{} {}\n", kMagic, kRecipeFormat);
  for (const std::string& comment : recipe.comments) {
    out += "#" + OneLine(comment) + "\n";
  }
  if (!recipe.build.empty()) out += fmt::format("build {}\n", recipe.build);
  out += fmt::format("base {}\nseed {}\nmode {}\nprofile {}\n",
                     kBases[static_cast<size_t>(spec.base)], spec.seed,
                     spec.mode, spec.profile);
  for (const auto& [name, value] : spec.knobs) {
    out += fmt::format("knob {} {}\n", name, value);
  }
  for (const std::string& name : spec.planted) {
    out += fmt::format("planted {}\n", name);
  }
  for (const std::string& edit : spec.plan_edits) {
    out += fmt::format("edit {}\n", OneLine(edit));
  }
  for (const sim::Override& o : spec.overrides) {
    out += fmt::format("override {}\n", o.ToString());
  }
  if (!spec.setup_sql.empty()) {
    AppendBlock(&out, "setup " + OneLine(spec.setup_name), spec.setup_sql);
  }
  for (const properties::ScriptSource& script : spec.scripts) {
    AppendBlock(
        &out, fmt::format("script {} {}", script.weight, OneLine(script.name)),
        script.text);
  }
  for (const properties::SessionSource& session : spec.sessions) {
    AppendBlock(&out, fmt::format("session {}", session.number), session.text);
  }
  if (spec.books != properties::Books::kNone) {
    bool all = spec.books == properties::Books::kAll;
    out += fmt::format("books {}\n", all ? "all" : "pairs");
  }
  for (const sim::ScheduleEntry& entry : spec.schedule) {
    out += fmt::format("schedule {}\n", entry.ToString());
  }
  for (const std::string& direction : spec.directions) {
    out += OneLine(direction) + "\n";
  }
  if (spec.fan_out.on()) {
    out += fmt::format("fan-out {}\n", spec.fan_out.ToString());
  }
  if (!recipe.expect_promise.empty()) {
    out += fmt::format("expect-promise {}\n", recipe.expect_promise);
  }
  for (const std::string& row : recipe.expect_gaps) {
    out += fmt::format("expect-gap {}\n", row);
  }
  if (recipe.expect_hash.has_value()) {
    out += fmt::format("expect-hash {:016x}\n", *recipe.expect_hash);
  }
  return out;
}

env::Result<Recipe> ParseRecipe(std::string_view text, std::string_view file) {
  return Parser(text, file).Parse();
}

env::Result<Recipe> LoadRecipe(const std::string& seed_or_file) {
  bool digits = !seed_or_file.empty() && seed_or_file.find_first_not_of(
                                             "0123456789") == std::string::npos;
  Recipe recipe;
  if (digits) {
    if (ParseUint(seed_or_file, 10, &recipe.spec.seed)) return recipe;
    return env::Status(env::Code::kInvalid,
                       fmt::format("expected a seed from 0 to 2^64-1, found "
                                   "\"{}\"",
                                   seed_or_file));
  }
  ASSIGN_OR_RETURN(std::string text, ReadFile(UserPath(seed_or_file)));
  return ParseRecipe(text, seed_or_file);
}

}  // namespace replay
