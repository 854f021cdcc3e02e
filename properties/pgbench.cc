#include "properties/pgbench.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "properties/pgbench_lexer.h"

namespace properties {
namespace {

using env::Code;
using env::Result;
using env::Status;

constexpr std::string_view kOtherCommands[] = {
    "gset",  "aset",  "if",       "elif",          "else",
    "endif", "shell", "setshell", "startpipeline", "endpipeline"};

Status At(const std::string& name, int line, std::string_view message) {
  return Status(Code::kInvalid, fmt::format("{}:{}: {}", name, line, message));
}

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool IsName(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!IsNameChar(c)) return false;
  }
  return true;
}

// Takes the first word off the front of *text, and the blanks behind it.
std::string TakeWord(std::string_view* text) {
  size_t end = text->find_first_of(" \t\r");
  std::string word(text->substr(0, end));
  size_t next = end == std::string_view::npos
                    ? text->size()
                    : text->find_first_not_of(" \t\r", end);
  text->remove_prefix(std::min(next, text->size()));
  return word;
}

Result<PgbenchCommand> ParseSet(std::string_view rest) {
  PgbenchCommand command;
  command.kind = PgbenchCommandKind::kSet;
  command.variable = TakeWord(&rest);
  if (!IsName(command.variable)) {
    return Status(Code::kInvalid,
                  fmt::format("\\set: found \"{}\", expected a variable's name",
                              command.variable));
  }
  Result<PgbenchExpr> expr = ParsePgbenchExpr(rest);
  if (!expr.ok()) {
    return Status(Code::kInvalid, fmt::format("\\set {}: {}", command.variable,
                                              expr.status().message()));
  }
  command.expr = std::make_shared<const PgbenchExpr>(std::move(*expr));
  return command;
}

Result<PgbenchCommand> ParseSleep(std::string_view rest) {
  PgbenchCommand command;
  command.kind = PgbenchCommandKind::kSleep;
  std::string amount = TakeWord(&rest);
  // pgbench also reads "100ms" as one word.
  std::string unit = TakeWord(&rest);
  size_t digits = amount.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string::npos && unit.empty()) {
    unit = amount.substr(digits);
    amount.resize(digits);
  }
  if (unit.empty() || unit == "s") {
    command.sleep_unit_us = 1000000;
  } else if (unit == "ms") {
    command.sleep_unit_us = 1000;
  } else if (unit != "us") {
    return Status(
        Code::kInvalid,
        fmt::format("\\sleep: found \"{}\", expected us, ms or s", unit));
  }
  bool is_number = amount.find_first_not_of("0123456789") == std::string::npos;
  bool is_variable = amount.size() > 1 && amount[0] == ':' &&
                     IsName(std::string_view(amount).substr(1));
  if (amount.empty() || (!is_number && !is_variable) || !rest.empty()) {
    return Status(Code::kInvalid,
                  fmt::format("\\sleep: found \"{}\", expected a number or a "
                              ":variable and a unit",
                              amount.empty() ? "the end of the line" : amount));
  }
  ASSIGN_OR_RETURN(PgbenchExpr expr, ParsePgbenchExpr(amount));
  command.expr = std::make_shared<const PgbenchExpr>(std::move(expr));
  return command;
}

Result<PgbenchCommand> ParseBackslash(std::string_view text) {
  std::string word = TakeWord(&text);
  if (word == "set") return ParseSet(text);
  if (word == "sleep") return ParseSleep(text);
  for (std::string_view other : kOtherCommands) {
    if (word == other) {
      return Status(Code::kInvalid,
                    fmt::format("\\{} is not supported, expected \\set or "
                                "\\sleep",
                                word));
    }
  }
  return Status(Code::kInvalid,
                fmt::format("invalid command \"\\{}\", expected \\set or "
                            "\\sleep",
                            word));
}

// random() of one command of one transaction.
class KeyedRandom : public PgbenchRandom {
 public:
  explicit KeyedRandom(sim::Drawer draw) : draw_(std::move(draw)) {}
  uint64_t Below(uint64_t bound) override {
    return draw_.Below("pgbench_random", bound);
  }

 private:
  sim::Drawer draw_;
};

// Runs the script once as transaction `number` of `session`.
Result<PlanTransaction> RunScript(const PgbenchScript& script, uint32_t session,
                                  uint32_t number, const sim::Drawer& draw,
                                  std::map<std::string, int64_t>* variables) {
  PlanTransaction t;
  t.number = number;
  t.block = false;
  uint32_t index = 0;
  for (const PgbenchCommand& command : script.commands) {
    ++index;
    PlanStatement step;
    step.id = {session, number, index};
    step.source = fmt::format("{}:{}", script.name, command.line);
    if (command.kind == PgbenchCommandKind::kSql) {
      step.sql = SubstituteVariables(command.text, *variables);
      t.statements.push_back(std::move(step));
      continue;
    }
    KeyedRandom random(draw.Child("q", index));
    Result<int64_t> value = Evaluate(*command.expr, *variables, &random);
    if (!value.ok()) {
      return At(script.name, command.line, value.status().message());
    }
    if (command.kind == PgbenchCommandKind::kSet) {
      (*variables)[command.variable] = *value;
      continue;
    }
    if (*value < 0 || *value > INT64_MAX / 1000 / command.sleep_unit_us) {
      return At(script.name, command.line, "\\sleep: value out of range");
    }
    step.sleep_ns = *value * command.sleep_unit_us * 1000;
    if (step.sleep_ns > 0) t.statements.push_back(std::move(step));
  }
  return t;
}

Result<std::vector<PgbenchScript>> ParseScripts(
    const std::vector<ScriptSource>& sources, const PgbenchScale& scale) {
  std::vector<PgbenchScript> scripts;
  for (const ScriptSource& source : sources) {
    std::string text = source.text;
    if (text.empty()) {
      std::optional<std::string> builtin = BuiltinScript(source.name, scale);
      if (!builtin) return At(source.name, 1, "the script is empty");
      text = *builtin;
    }
    ASSIGN_OR_RETURN(PgbenchScript script,
                     ParsePgbenchScript(source.name, text));
    if (script.commands.empty()) {
      return At(source.name, 1, "the script holds no command");
    }
    script.weight = source.weight;
    scripts.push_back(std::move(script));
  }
  return scripts;
}

}  // namespace

Result<PgbenchScript> ParsePgbenchScript(const std::string& name,
                                         std::string_view text) {
  PgbenchScript script;
  script.name = name;
  PgbenchLexer lexer(text);
  for (;;) {
    Result<PgbenchToken> token = lexer.Next();
    if (!token.ok()) {
      return At(name, lexer.error_line(), token.status().message());
    }
    if (token->kind == PgbenchToken::Kind::kEnd) return script;
    PgbenchCommand command;
    if (token->kind == PgbenchToken::Kind::kSql) {
      command.text = std::move(token->text);
    } else {
      Result<PgbenchCommand> parsed = ParseBackslash(token->text);
      if (!parsed.ok()) {
        return At(name, token->line, parsed.status().message());
      }
      command = std::move(*parsed);
    }
    command.line = token->line;
    script.commands.push_back(std::move(command));
  }
}

std::string SubstituteVariables(
    std::string_view sql, const std::map<std::string, int64_t>& variables) {
  std::string out;
  size_t at = 0;
  while (at < sql.size()) {
    if (sql[at] != ':') {
      out += sql[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < sql.size() && IsNameChar(sql[end])) ++end;
    auto it = variables.find(std::string(sql.substr(at + 1, end - at - 1)));
    if (end > at + 1 && it != variables.end()) {
      out += fmt::format("{}", it->second);
      at = end;
      continue;
    }
    // "::" is a cast: skip all its colons.
    out += sql[at++];
    while (end == at && at < sql.size() && sql[at] == ':') {
      out += sql[at++];
      end = at;
    }
  }
  return out;
}

PgbenchKnobs DrawPgbenchKnobs(sim::Choices& choices, const sim::Scope& scope) {
  sim::Drawer draw(&choices, sim::Stream::kKnobs, scope.Child("pgbench"));
  PgbenchKnobs knobs;
  knobs.sessions = static_cast<uint32_t>(draw.Between("sessions", 1, 4));
  knobs.transactions =
      static_cast<uint32_t>(draw.Between("transactions", 2, 8));
  if (draw.Chance("many_accounts", 1, 4)) {
    knobs.scale.accounts_per_branch = draw.Between("accounts", 100, 300);
  } else {
    knobs.scale.accounts_per_branch = draw.Between("accounts", 5, 100);
  }
  return knobs;
}

Result<std::vector<PlanStatement>> SplitSetupSql(const std::string& name,
                                                 std::string_view sql) {
  std::vector<PlanStatement> steps;
  PgbenchLexer lexer(sql);
  for (;;) {
    Result<PgbenchToken> token = lexer.Next();
    if (!token.ok()) {
      return At(name, lexer.error_line(), token.status().message());
    }
    if (token->kind == PgbenchToken::Kind::kEnd) return steps;
    if (token->kind == PgbenchToken::Kind::kBackslash) {
      return At(
          name, token->line,
          fmt::format("found \"\\{}\", expected a SQL statement", token->text));
    }
    PlanStatement step;
    step.id = {0, 1, static_cast<uint32_t>(steps.size()) + 1};
    step.source = fmt::format("{}:{}", name, token->line);
    step.sql = std::move(token->text);
    steps.push_back(std::move(step));
  }
}

Result<Plan> GeneratePgbenchPlan(sim::Choices& choices, const sim::Scope& scope,
                                 const PgbenchKnobs& knobs,
                                 const std::vector<ScriptSource>& sources,
                                 const std::string& setup_name,
                                 const std::string& setup_sql) {
  ASSIGN_OR_RETURN(std::vector<PgbenchScript> scripts,
                   ParseScripts(sources, knobs.scale));
  Plan plan;
  bool own_setup = !setup_sql.empty();
  ASSIGN_OR_RETURN(
      plan.setup,
      SplitSetupSql(own_setup ? setup_name : "pgbench",
                    own_setup ? setup_sql : PgbenchSetupSql(knobs.scale)));
  std::vector<uint32_t> weights;
  uint64_t total = 0;
  for (const PgbenchScript& script : scripts) {
    weights.push_back(script.weight);
    total += script.weight;
  }
  if (total == 0) {
    return Status(Code::kInvalid, "no script with a weight above 0");
  }
  sim::Drawer root(&choices, sim::Stream::kWorkload, scope);
  for (uint32_t s = 1; s <= knobs.sessions; ++s) {
    PlanSession session;
    session.number = s;
    std::map<std::string, int64_t> variables = {{"scale", knobs.scale.scale},
                                                {"client_id", s - 1}};
    sim::Drawer of_session = root.Child("s", s);
    for (uint32_t t = 1; t <= knobs.transactions; ++t) {
      sim::Drawer draw = of_session.Child("t", t);
      size_t pick = scripts.size() == 1 ? 0 : draw.Weighted("script", weights);
      ASSIGN_OR_RETURN(PlanTransaction transaction,
                       RunScript(scripts[pick], s, t, draw, &variables));
      session.transactions.push_back(std::move(transaction));
    }
    plan.sessions.push_back(std::move(session));
  }
  return plan;
}

}  // namespace properties
