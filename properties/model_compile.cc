// ExprCompiler: names and types.
#include <algorithm>
#include <optional>
#include <utility>

#include "properties/model_eval.h"
#include "properties/model_functions.h"

namespace properties {
namespace {

using engine::Expr;
using engine::ExprKind;
using env::Result;
using env::Status;
using Op = ModelExpr::Op;

ModelExpr Node(Op op, uint32_t type) {
  ModelExpr node;
  node.op = op;
  node.type = type;
  return node;
}

ModelExpr Wrap(Op op, uint32_t type, ModelExpr arg) {
  ModelExpr node = Node(op, type);
  node.operand_type = arg.type;
  node.args.push_back(std::move(arg));
  return node;
}

bool IsLiteral(const ModelExpr& e) {
  return e.op == Op::kConst && e.type == kUnknownType;
}

// A literal or NULL takes the type; the rest keeps its own.
Status TakeType(uint32_t type, ModelExpr* e) {
  if (!IsLiteral(*e)) return {};
  if (!IsNull(e->value)) {
    ASSIGN_OR_RETURN(e->value, ParseLiteral(type, e->value.bytes));
  }
  e->type = type;
  return {};
}

// The one type of values that meet in CASE, COALESCE or a set of operands.
Result<uint32_t> CommonType(std::vector<ModelExpr>* values) {
  uint32_t type = kUnknownType;
  for (const ModelExpr& value : *values) {
    if (IsLiteral(value) || value.type == type) continue;
    if (type == kUnknownType) {
      type = value.type;
    } else if (IsInteger(type) && IsInteger(value.type)) {
      type = WiderInteger(type, value.type);
    } else if (IsPlainText(type) && IsPlainText(value.type)) {
      type = kTextType;
    } else {
      return NotModelled("values of different types");
    }
  }
  if (type == kUnknownType) type = kTextType;
  for (ModelExpr& value : *values) RETURN_IF_ERROR(TakeType(type, &value));
  return type;
}

// The type in which both are compared; char(n) beside text loses its blanks.
Result<uint32_t> ComparisonType(std::vector<ModelExpr>* pair) {
  bool padded[2];
  bool plain[2];
  for (size_t i = 0; i < 2; ++i) {
    padded[i] = (*pair)[i].type == kBpcharType;
    plain[i] = IsPlainText((*pair)[i].type);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!padded[i] || !plain[1 - i]) continue;
    (*pair)[i] = Wrap(Op::kTrimmed, kTextType, std::move((*pair)[i]));
  }
  ASSIGN_OR_RETURN(uint32_t type, CommonType(pair));
  if (!IsComparable(type)) return NotModelled("a comparison of this type");
  return type;
}

char ComparisonSymbol(const std::string& op) {
  if (op == "<" || op == "=" || op == ">") return op[0];
  if (op == "<=") return 'l';
  if (op == ">=") return 'g';
  return op == "<>" || op == "!=" ? 'n' : '\0';
}

Result<ModelExpr> AsText(ModelExpr value) {
  if (IsLiteral(value) || IsPlainText(value.type)) {
    RETURN_IF_ERROR(TakeType(kTextType, &value));
    return value;
  }
  if (value.type == kBpcharType) {
    return Wrap(Op::kTrimmed, kTextType, std::move(value));
  }
  if (IsInteger(value.type)) {
    return Wrap(Op::kTextOf, kTextType, std::move(value));
  }
  return NotModelled("this type as text");
}

bool IsAggregate(const std::string& name) {
  return name == "count" || name == "sum" || name == "min" || name == "max";
}

}  // namespace

void ExprCompiler::SetGroupKeys(const std::vector<Expr>& keys,
                                const std::vector<ModelExpr>& compiled) {
  grouped_ = true;
  for (const Expr& key : keys) group_texts_.push_back(engine::ToSql(key));
  for (const ModelExpr& key : compiled) group_types_.push_back(key.type);
}

// Computes what is constant now, as the planner does.
Result<ModelExpr> ExprCompiler::Fold(ModelExpr node) const {
  if (node.op == Op::kConst || !IsConstant(node)) return node;
  Result<Value> value = EvaluateValue(node, EvalRow());
  if (!value.ok()) {
    if (conditional_ == 0 || IsNotModelled(value.status())) {
      return std::move(value).status();
    }
    return NotModelled("an error that is perhaps never reached");
  }
  ModelExpr folded = Node(Op::kConst, node.type);
  folded.value = std::move(value).value();
  return folded;
}

Result<ModelExpr> ExprCompiler::Compile(const Expr& e) {
  if (!group_texts_.empty() && e.kind != ExprKind::kConst) {
    std::string text = engine::ToSql(e);
    for (size_t i = 0; i < group_texts_.size(); ++i) {
      if (text != group_texts_[i]) continue;
      ModelExpr key = Node(Op::kGroupKey, group_types_[i]);
      key.index = static_cast<int>(i);
      return key;
    }
  }
  ASSIGN_OR_RETURN(ModelExpr node, CompileNode(e));
  return Fold(std::move(node));
}

Result<ModelExpr> ExprCompiler::CompileConditional(const Expr& e) {
  ++conditional_;
  Result<ModelExpr> node = Compile(e);
  --conditional_;
  return node;
}

Result<ModelExpr> ExprCompiler::CompileCondition(const Expr& e) {
  ASSIGN_OR_RETURN(ModelExpr node, Compile(e));
  RETURN_IF_ERROR(TakeType(kBoolType, &node));
  if (node.type != kBoolType) return NotModelled("a condition of this type");
  return node;
}

Result<std::vector<ModelExpr>> ExprCompiler::CompileAll(
    const std::vector<Expr>& list) {
  std::vector<ModelExpr> out;
  for (const Expr& e : list) {
    ASSIGN_OR_RETURN(ModelExpr node, Compile(e));
    out.push_back(std::move(node));
  }
  return out;
}

Result<ModelExpr> ExprCompiler::CompileNode(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kConst: {
      if (e.const_type == kNumericType) return NotModelled("numeric");
      ModelExpr node = Node(Op::kConst, e.const_type);
      if (e.isnull) return node;
      bool text = e.const_type == kUnknownType || e.const_type == kTextType;
      node.value = text ? TextValue(e.name) : IntValue(e.num);
      return node;
    }
    case ExprKind::kColumn:
      return CompileColumn(e);
    case ExprKind::kOp:
      return CompileOp(e);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
      return CompileLogic(e);
    case ExprKind::kIsNull:
    case ExprKind::kIsNotNull: {
      ASSIGN_OR_RETURN(ModelExpr arg, Compile(e.args[0]));
      ModelExpr node = Wrap(Op::kIsNull, kBoolType, std::move(arg));
      node.negated = e.kind == ExprKind::kIsNotNull;
      return node;
    }
    case ExprKind::kBetween:
      return CompileBetween(e);
    case ExprKind::kIn:
      return CompileIn(e);
    case ExprKind::kDistinctFrom: {
      ASSIGN_OR_RETURN(ModelExpr node,
                       CompileComparison('=', e.args[0], e.args[1]));
      node.op = Op::kDistinct;
      node.negated = e.negated;
      return node;
    }
    case ExprKind::kCase:
      return CompileCase(e);
    case ExprKind::kCast:
      return CompileCast(e);
    case ExprKind::kFunction:
      return CompileFunction(e);
    default:
      return NotModelled("this kind of expression");
  }
}

Result<ModelExpr> ExprCompiler::CompileColumn(const Expr& e) {
  if (table_ == nullptr) return NotModelled("a column without a table");
  if (!e.qualifier.empty() && e.qualifier != refname_) {
    return NotModelled("a column of another table");
  }
  if (grouped_) return NotModelled("a column that is no group key");
  for (size_t i = 0; i < table_->columns.size(); ++i) {
    const ColumnShape& column = table_->columns[i];
    if (column.dropped || column.name != e.name) continue;
    ModelExpr node = Node(Op::kColumn, column.type);
    node.index = static_cast<int>(i);
    return node;
  }
  return NotModelled("column " + e.name);
}

Result<ModelExpr> ExprCompiler::CompileComparison(char symbol, const Expr& left,
                                                  const Expr& right) {
  ModelExpr node = Node(Op::kCompare, kBoolType);
  node.symbol = symbol;
  ASSIGN_OR_RETURN(ModelExpr a, Compile(left));
  ASSIGN_OR_RETURN(ModelExpr b, Compile(right));
  node.args.push_back(std::move(a));
  node.args.push_back(std::move(b));
  ASSIGN_OR_RETURN(node.operand_type, ComparisonType(&node.args));
  return node;
}

Result<ModelExpr> ExprCompiler::CompileOp(const Expr& e) {
  if (char symbol = ComparisonSymbol(e.name);
      symbol != '\0' && e.args.size() == 2) {
    return CompileComparison(symbol, e.args[0], e.args[1]);
  }
  ASSIGN_OR_RETURN(std::vector<ModelExpr> args, CompileAll(e.args));
  if (e.name == "||" && args.size() == 2) {
    bool texts = IsText(args[0].type) || IsText(args[1].type);
    bool literals = IsLiteral(args[0]) || IsLiteral(args[1]);
    if (!texts && !literals) return NotModelled("operator || of these types");
    ModelExpr node = Node(Op::kConcat, kTextType);
    for (ModelExpr& arg : args) {
      ASSIGN_OR_RETURN(ModelExpr text, AsText(std::move(arg)));
      node.args.push_back(std::move(text));
    }
    return node;
  }
  if ((e.name == "~~" || e.name == "!~~") && args.size() == 2) {
    // char(n) on the left keeps its blanks.
    ModelExpr node = Node(Op::kLike, kBoolType);
    node.negated = e.name == "!~~";
    for (ModelExpr& arg : args) {
      bool text = IsLiteral(arg) || IsPlainText(arg.type) ||
                  (node.args.empty() && arg.type == kBpcharType);
      if (!text) return NotModelled("LIKE of these types");
      RETURN_IF_ERROR(TakeType(kTextType, &arg));
      node.args.push_back(std::move(arg));
    }
    return node;
  }
  bool arithmetic =
      e.name.size() == 1 &&
      std::string_view("+-*/%").find(e.name[0]) != std::string_view::npos;
  if (!arithmetic) return NotModelled("operator " + e.name);
  ASSIGN_OR_RETURN(uint32_t type, CommonType(&args));
  if (!IsInteger(type)) return NotModelled("arithmetic of this type");
  if (args.size() == 1) {
    if (e.name == "+") return std::move(args[0]);
    if (e.name != "-") return NotModelled("operator " + e.name);
    return Wrap(Op::kNegate, type, std::move(args[0]));
  }
  ModelExpr node = Node(Op::kArithmetic, type);
  node.symbol = e.name[0];
  node.args = std::move(args);
  return node;
}

Result<ModelExpr> ExprCompiler::CompileLogic(const Expr& e) {
  if (e.kind == ExprKind::kNot) {
    ASSIGN_OR_RETURN(ModelExpr arg, CompileCondition(e.args[0]));
    return Wrap(Op::kNot, kBoolType, std::move(arg));
  }
  ModelExpr node =
      Node(e.kind == ExprKind::kAnd ? Op::kAnd : Op::kOr, kBoolType);
  for (const Expr& arg : e.args) {
    ++conditional_;
    Result<ModelExpr> condition = CompileCondition(arg);
    --conditional_;
    if (!condition.ok()) return condition;
    node.args.push_back(std::move(condition).value());
  }
  return node;
}

Result<ModelExpr> ExprCompiler::CompileBetween(const Expr& e) {
  ModelExpr node = Node(e.negated ? Op::kOr : Op::kAnd, kBoolType);
  for (size_t i = 1; i <= 2; ++i) {
    char symbol = e.negated ? (i == 1 ? '<' : '>') : (i == 1 ? 'g' : 'l');
    ASSIGN_OR_RETURN(ModelExpr test,
                     CompileComparison(symbol, e.args[0], e.args[i]));
    node.args.push_back(std::move(test));
  }
  return node;
}

Result<ModelExpr> ExprCompiler::CompileIn(const Expr& e) {
  ModelExpr node = Node(e.negated ? Op::kAnd : Op::kOr, kBoolType);
  for (size_t i = 1; i < e.args.size(); ++i) {
    ASSIGN_OR_RETURN(ModelExpr test, CompileComparison(e.negated ? 'n' : '=',
                                                       e.args[0], e.args[i]));
    node.args.push_back(std::move(test));
  }
  return node;
}

Result<ModelExpr> ExprCompiler::CompileCase(const Expr& e) {
  std::vector<ModelExpr> conditions;
  std::vector<ModelExpr> results;
  for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
    ++conditional_;
    Result<ModelExpr> when = CompileCondition(e.args[i]);
    --conditional_;
    if (!when.ok()) return when;
    conditions.push_back(std::move(when).value());
    ASSIGN_OR_RETURN(ModelExpr then, CompileConditional(e.args[i + 1]));
    results.push_back(std::move(then));
  }
  ModelExpr otherwise = Node(Op::kConst, kUnknownType);
  if (e.args.size() % 2 == 1) {
    ASSIGN_OR_RETURN(otherwise, CompileConditional(e.args.back()));
  }
  results.push_back(std::move(otherwise));
  ASSIGN_OR_RETURN(uint32_t type, CommonType(&results));
  ModelExpr node = Node(Op::kCase, type);
  for (size_t i = 0; i < conditions.size(); ++i) {
    node.args.push_back(std::move(conditions[i]));
    node.args.push_back(std::move(results[i]));
  }
  node.args.push_back(std::move(results.back()));
  return node;
}

Result<ModelExpr> ExprCompiler::CompileCast(const Expr& e) {
  engine::ColumnDef def;
  def.type = e.type;
  std::optional<ColumnShape> target = ShapeOfColumn(def);
  if (!target.has_value() || target->typmod >= 0) {
    return NotModelled("a cast to " + e.type.name);
  }
  ASSIGN_OR_RETURN(ModelExpr arg, Compile(e.args[0]));
  bool integers = IsInteger(target->type) && IsInteger(arg.type);
  bool to_text =
      IsPlainText(target->type) && (IsInteger(arg.type) || IsText(arg.type));
  if (!IsLiteral(arg) && arg.type != target->type && !integers && !to_text) {
    return NotModelled("a cast to " + e.type.name);
  }
  return AssignCompiled(std::move(arg), *target);
}

Result<ModelExpr> ExprCompiler::CompileVariadic(const Expr& e) {
  ModelExpr node =
      Node(e.name == "coalesce" ? Op::kCoalesce : Op::kExtreme, kUnknownType);
  node.negated = e.name == "least";
  for (const Expr& arg : e.args) {
    ASSIGN_OR_RETURN(ModelExpr value, CompileConditional(arg));
    node.args.push_back(std::move(value));
  }
  ASSIGN_OR_RETURN(node.type, CommonType(&node.args));
  if (node.op == Op::kExtreme && !IsComparable(node.type)) {
    return NotModelled(e.name + " of this type");
  }
  node.operand_type = node.type;
  return node;
}

Result<ModelExpr> ExprCompiler::CompileFunction(const Expr& e) {
  if (e.name == "coalesce" || e.name == "greatest" || e.name == "least") {
    return CompileVariadic(e);
  }
  if (e.name == "nullif" && e.args.size() == 2) {
    ASSIGN_OR_RETURN(ModelExpr node,
                     CompileComparison('=', e.args[0], e.args[1]));
    node.op = Op::kNullIf;
    node.type = node.args[0].type;
    return node;
  }
  if (IsAggregate(e.name)) return CompileAggregate(e);
  if (e.distinct) return NotModelled("function " + e.name);
  ASSIGN_OR_RETURN(std::vector<ModelExpr> args, CompileAll(e.args));
  std::vector<uint32_t> types;
  for (const ModelExpr& arg : args) types.push_back(arg.type);
  std::optional<uint8_t> number = FindModelFunction(e.name, types);
  if (!number) return NotModelled("function " + e.name);
  const ModelFunction& function = ModelFunctionAt(*number);
  ModelExpr node = Node(Op::kFunction, function.result);
  node.function = *number;
  for (size_t i = 0; i < args.size(); ++i) {
    RETURN_IF_ERROR(TakeType(function.args[i], &args[i]));
  }
  if (function.result == kInt8Type) {
    node.type = kInt2Type;
    for (uint32_t type : types) node.type = WiderInteger(node.type, type);
  }
  node.args = std::move(args);
  return node;
}

Result<ModelExpr> ExprCompiler::CompileAggregate(const Expr& e) {
  if (!aggregates_allowed_) return NotModelled("an aggregate here");
  ModelAggregate aggregate;
  bool star = e.args.size() == 1 && e.args[0].kind == ExprKind::kStar;
  using Kind = ModelAggregate::Kind;
  aggregate.kind = e.name == "sum"   ? Kind::kSum
                   : e.name == "min" ? Kind::kMin
                   : e.name == "max" ? Kind::kMax
                   : star            ? Kind::kCountStar
                                     : Kind::kCount;
  aggregate.distinct = e.distinct;
  aggregate.type = kInt8Type;
  if (aggregate.kind != Kind::kCountStar) {
    if (e.args.size() != 1 || star) return NotModelled("aggregate " + e.name);
    ExprCompiler inner(table_, refname_);
    ASSIGN_OR_RETURN(aggregate.arg, inner.Compile(e.args[0]));
    RETURN_IF_ERROR(TakeType(kTextType, &aggregate.arg));
    uint32_t type = aggregate.arg.type;
    if (!IsComparable(type) || type == kBoolType) {
      return NotModelled(e.name + " of this type");
    }
    if (aggregate.kind == Kind::kSum) {
      if (!IsInteger(type)) return NotModelled("sum of this type");
      aggregate.type = type == kInt8Type ? kNumericType : kInt8Type;
    } else if (aggregate.kind != Kind::kCount) {
      aggregate.type = IsPlainText(type) ? kTextType : type;
    }
  }
  ModelExpr node = Node(Op::kAggregate, aggregate.type);
  node.index = static_cast<int>(aggregates_.size());
  aggregates_.push_back(std::move(aggregate));
  return node;
}

Result<ModelExpr> ExprCompiler::Assign(const Expr& e,
                                       const ColumnShape& column) {
  if (e.kind == ExprKind::kDefault) return Node(Op::kConst, column.type);
  if (e.kind == ExprKind::kFunction && IsTimeFunction(e.name)) {
    return Node(Op::kFromEvent, column.type);
  }
  ASSIGN_OR_RETURN(ModelExpr value, Compile(e));
  return AssignCompiled(std::move(value), column);
}

Result<ModelExpr> ExprCompiler::AssignCompiled(
    ModelExpr value, const ColumnShape& column) const {
  uint32_t type = column.type;
  if (IsLiteral(value)) {
    RETURN_IF_ERROR(TakeType(type, &value));
  } else if (IsInteger(type) && IsInteger(value.type)) {
    if (WiderInteger(type, value.type) != type) {
      value = Wrap(Op::kRange, type, std::move(value));
    }
  } else if (IsText(type) && value.type != type) {
    ASSIGN_OR_RETURN(value, AsText(std::move(value)));
  } else if (value.type != type) {
    return NotModelled("an assignment between these types");
  }
  if (IsText(type) && column.typmod >= 0) {
    value = Wrap(Op::kFit, type, std::move(value));
    value.typmod = column.typmod;
  }
  value.type = type;
  return Fold(std::move(value));
}

}  // namespace properties
