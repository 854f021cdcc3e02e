#include "engine/sql/coerce.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/common/errcodes.h"

namespace engine {
namespace {

char TypeCategory(Oid type) {
  if (type == ANYNONARRAYOID) return 'P';
  const TypeInfo* info = FindType(type);
  return info == nullptr ? 'U' : info->typcategory;
}

bool IsPreferredType(char category, Oid type) {
  const TypeInfo* info = FindType(type);
  return info != nullptr && info->typcategory == category &&
         info->typispreferred;
}

bool ThroughText(Oid from, Oid to, CastContext context) {
  if (context >= CastContext::kAssignment && TypeCategory(to) == 'S') {
    return true;
  }
  return context == CastContext::kExplicit && TypeCategory(from) == 'S';
}

// Types whose operators and casts Musth does not have.
bool IsOpaqueType(Oid type) {
  switch (type) {
    case NUMERICOID:
    case FLOAT4OID:
    case FLOAT8OID:
    case BYTEAOID:
    case TEXTARRAYOID:
    case ACLITEMARRAYOID:
    case PG_NODE_TREEOID:
    case ANYARRAYOID:
      return true;
    default:
      return false;
  }
}

bool ArgCoercible(Oid from, Oid to) {
  if (from == UNKNOWNOID) return true;
  if (to == ANYNONARRAYOID) return TypeCategory(from) != 'A';
  return CanCoerce(from, to, CastContext::kImplicit);
}

using Candidates = std::vector<const Builtin*>;

// Keeps the candidates for which score is highest.
template <typename Score>
void KeepBest(Candidates* candidates, const Score& score) {
  int best = -1;
  Candidates kept;
  for (const Builtin* c : *candidates) {
    int value = score(*c);
    if (value > best) {
      best = value;
      kept.clear();
    }
    if (value == best) kept.push_back(c);
  }
  *candidates = std::move(kept);
}

// Decides by the category that the candidates want for unknown arguments.
// False if they disagree.
bool ResolveUnknownByCategory(Candidates* candidates,
                              std::span<const Oid> types) {
  Candidates kept = *candidates;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != UNKNOWNOID) continue;
    char category = '\0';
    bool conflict = false;
    bool has_preferred = false;
    for (const Builtin* c : *candidates) {
      char own = TypeCategory(c->args[i]);
      if (category == '\0') {
        category = own;
        has_preferred = IsPreferredType(own, c->args[i]);
      } else if (category == own) {
        has_preferred = has_preferred || IsPreferredType(own, c->args[i]);
      } else if (own == 'S') {
        category = own;
        has_preferred = IsPreferredType(own, c->args[i]);
      } else if (category != 'S') {
        conflict = true;
      }
    }
    if (conflict && category != 'S') return false;
    std::erase_if(kept, [&](const Builtin* c) {
      return TypeCategory(c->args[i]) != category ||
             (has_preferred && !IsPreferredType(category, c->args[i]));
    });
  }
  if (!kept.empty()) *candidates = std::move(kept);
  return true;
}

// All known arguments have one type: the unknown ones may be meant so too.
void ResolveUnknownByOthers(Candidates* candidates,
                            std::span<const Oid> types) {
  Oid known = UNKNOWNOID;
  for (Oid type : types) {
    if (type == UNKNOWNOID) continue;
    if (known != UNKNOWNOID && known != type) return;
    known = type;
  }
  if (known == UNKNOWNOID) return;
  Candidates kept;
  for (const Builtin* c : *candidates) {
    bool fits = true;
    for (size_t i = 0; i < types.size(); ++i) {
      fits = fits && ArgCoercible(known, c->args[i]);
    }
    if (fits) kept.push_back(c);
  }
  if (kept.size() == 1) *candidates = std::move(kept);
}

// Source: parse_func.c func_select_candidate().
void SelectCandidate(Candidates* candidates, std::span<const Oid> types) {
  if (candidates->size() <= 1) return;
  KeepBest(candidates, [types](const Builtin& c) {
    int matches = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      matches += types[i] != UNKNOWNOID && c.args[i] == types[i] ? 1 : 0;
    }
    return matches;
  });
  if (candidates->size() == 1) return;
  KeepBest(candidates, [types](const Builtin& c) {
    int matches = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] == UNKNOWNOID) continue;
      bool good = c.args[i] == types[i] ||
                  IsPreferredType(TypeCategory(types[i]), c.args[i]);
      matches += good ? 1 : 0;
    }
    return matches;
  });
  bool unknown =
      std::find(types.begin(), types.end(), UNKNOWNOID) != types.end();
  if (candidates->size() == 1 || !unknown) return;
  if (ResolveUnknownByCategory(candidates, types) && candidates->size() == 1) {
    return;
  }
  ResolveUnknownByOthers(candidates, types);
}

bool IsSymbol(std::string_view name) {
  return !name.empty() && std::string_view("+-*/<>=~!@#%^&|`?").find(name[0]) !=
                              std::string_view::npos;
}

// "integer + text" or "lower(integer)".
std::string CallText(std::string_view name, std::span<const Oid> types) {
  if (IsSymbol(name)) {
    return types.size() == 1 ? fmt::format("{} {}", name, FormatType(types[0]))
                             : fmt::format("{} {} {}", FormatType(types[0]),
                                           name, FormatType(types[1]));
  }
  std::string out = fmt::format("{}(", name);
  for (size_t i = 0; i < types.size(); ++i) {
    if (i > 0) out += ", ";
    out += FormatType(types[i]);
  }
  return out + ")";
}

Status NotFound(std::span<const Builtin> table, std::string_view name,
                std::span<const Oid> types, int position) {
  bool symbol = IsSymbol(name);
  bool known = std::any_of(table.begin(), table.end(), [name](const auto& row) {
    return name == row.name;
  });
  bool opaque = false;
  bool datetime = false;
  for (Oid type : types) {
    opaque = opaque || IsOpaqueType(type);
    datetime = datetime || TypeCategory(type) == 'D';
  }
  bool date_math = datetime && (name == "+" || name == "-");
  if ((symbol && !known) || IsUnsupportedFunction(name) || opaque ||
      date_math) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED, "{} {} is not supported",
                    symbol ? "operator" : "function", CallText(name, types))
        .WithCursor(position);
  }
  std::string text = CallText(name, types);
  return SqlError(ERRCODE_UNDEFINED_FUNCTION, "{}",
                  symbol ? "operator does not exist: " + text
                         : "function " + text + " does not exist")
      .WithHint(symbol && types.size() == 1
                    ? "No operator matches the given name and argument type. "
                      "You might need to add an explicit type cast."
                : symbol
                    ? "No operator matches the given name and argument types. "
                      "You might need to add explicit type casts."
                    : "No function matches the given name and argument types. "
                      "You might need to add explicit type casts.")
      .WithCursor(position);
}

Status Ambiguous(std::string_view name, std::span<const Oid> types,
                 int position) {
  bool symbol = IsSymbol(name);
  std::string text = CallText(name, types);
  return SqlError(ERRCODE_AMBIGUOUS_FUNCTION, "{}",
                  symbol ? "operator is not unique: " + text
                         : "function " + text + " is not unique")
      .WithHint(symbol ? "Could not choose a best candidate operator. You "
                         "might need to add explicit type casts."
                       : "Could not choose a best candidate function. You "
                         "might need to add explicit type casts.")
      .WithCursor(position);
}

}  // namespace

bool CanCoerce(Oid from, Oid to, CastContext context) {
  if (from == to || from == UNKNOWNOID) return true;
  const CastRow* row = FindCast(from, to);
  if (row != nullptr) return row->context <= context;
  return ThroughText(from, to, context);
}

Result<ExprNode> CoerceType(ExprNode node, Oid to, Arena& arena) {
  if (node.type == to) return node;
  if (node.type == UNKNOWNOID && node.op == ExprOp::kConst) {
    if (!node.value.isnull) {
      Result<Datum> value = TypeInput(to, node.value.bytes, arena);
      if (!value.ok()) {
        return std::move(value).status().WithCursor(node.position);
      }
      node.value = *value;
    }
    node.type = to;
    return node;
  }
  ExprNode cast;
  cast.type = to;
  cast.position = node.position;
  const CastRow* row = FindCast(node.type, to);
  if (row == nullptr) {
    cast.op = ExprOp::kViaIO;
  } else if (row->function == nullptr) {
    cast.op = ExprOp::kRelabel;
  } else {
    cast.op = ExprOp::kCall;
    cast.function = row->function;
  }
  cast.args.push_back(std::move(node));
  return cast;
}

Result<ExprNode> CoerceToTarget(ExprNode node, Oid to, int32_t typmod,
                                CastContext context, Arena& arena,
                                int position) {
  if (!CanCoerce(node.type, to, context)) {
    if (IsOpaqueType(node.type) || IsOpaqueType(to)) {
      return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                      "cast of type {} to {} is not supported",
                      FormatType(node.type), FormatType(to))
          .WithCursor(position);
    }
    return SqlError(ERRCODE_CANNOT_COERCE, "cannot cast type {} to {}",
                    FormatType(node.type), FormatType(to))
        .WithCursor(position);
  }
  bool same_length = node.type == to && node.typmod == typmod;
  ASSIGN_OR_RETURN(ExprNode out, CoerceType(std::move(node), to, arena));
  if (typmod < 0 || same_length) return out;
  ExprNode sized;
  sized.op = ExprOp::kTypeMod;
  sized.type = to;
  sized.typmod = typmod;
  sized.is_explicit = context == CastContext::kExplicit;
  sized.position = out.position;
  sized.args.push_back(std::move(out));
  return sized;
}

Result<const Builtin*> ResolveBuiltin(std::span<const Builtin> table,
                                      std::string_view name,
                                      std::span<const Oid> types,
                                      int position) {
  auto exact = [&](std::span<const Oid> wanted) -> const Builtin* {
    for (const Builtin& row : table) {
      if (name == row.name && row.nargs == static_cast<int>(wanted.size()) &&
          std::equal(wanted.begin(), wanted.end(), row.args)) {
        return &row;
      }
    }
    return nullptr;
  };
  if (const Builtin* row = exact(types)) return row;
  if (IsSymbol(name) && types.size() == 2 && types[0] != types[1] &&
      (types[0] == UNKNOWNOID || types[1] == UNKNOWNOID)) {
    Oid known = types[0] == UNKNOWNOID ? types[1] : types[0];
    Oid both[2] = {known, known};
    if (const Builtin* row = exact(both)) return row;
  }
  Candidates candidates;
  for (const Builtin& row : table) {
    if (name != row.name || row.nargs != static_cast<int>(types.size())) {
      continue;
    }
    bool fits = true;
    for (size_t i = 0; i < types.size(); ++i) {
      fits = fits && ArgCoercible(types[i], row.args[i]);
    }
    if (fits) candidates.push_back(&row);
  }
  if (candidates.empty()) return NotFound(table, name, types, position);
  SelectCandidate(&candidates, types);
  if (candidates.size() > 1) return Ambiguous(name, types, position);
  return candidates[0];
}

Result<ExprNode> MakeCall(const Builtin& builtin, std::vector<ExprNode> args,
                          Arena& arena, int position) {
  ExprNode call;
  call.op = builtin.function == nullptr ? ExprOp::kCompare : ExprOp::kCall;
  call.type = builtin.result;
  call.builtin = &builtin;
  call.function = builtin.function;
  call.fast_op = builtin.fast_op;
  call.compare_type = builtin.args[0];
  call.immutable = builtin.volatility == Volatility::kImmutable;
  call.position = position;
  for (size_t i = 0; i < args.size(); ++i) {
    Oid want = builtin.args[i] == ANYNONARRAYOID ? TEXTOID : builtin.args[i];
    ASSIGN_OR_RETURN(ExprNode arg, CoerceType(std::move(args[i]), want, arena));
    call.args.push_back(std::move(arg));
  }
  return call;
}

Result<Oid> SelectCommonType(std::span<const ExprNode> nodes,
                             std::string_view construct) {
  Oid best = UNKNOWNOID;
  for (const ExprNode& node : nodes) {
    Oid type = node.type;
    if (type == UNKNOWNOID || type == best) continue;
    if (best == UNKNOWNOID) {
      best = type;
      continue;
    }
    if (TypeCategory(type) != TypeCategory(best)) {
      return SqlError(ERRCODE_DATATYPE_MISMATCH,
                      "{} types {} and {} cannot be matched", construct,
                      FormatType(best), FormatType(type))
          .WithCursor(node.position);
    }
    if (!IsPreferredType(TypeCategory(best), best) &&
        CanCoerce(best, type, CastContext::kImplicit) &&
        !CanCoerce(type, best, CastContext::kImplicit)) {
      best = type;
    }
  }
  if (best == UNKNOWNOID) return Oid{TEXTOID};
  for (const ExprNode& node : nodes) {
    if (!CanCoerce(node.type, best, CastContext::kImplicit)) {
      return SqlError(ERRCODE_CANNOT_COERCE,
                      "{} could not convert type {} to {}", construct,
                      FormatType(node.type), FormatType(best))
          .WithCursor(node.position);
    }
  }
  return best;
}

}  // namespace engine
