// The rows of pg_operator, pg_proc and pg_cast that Musth has, and the code
// behind them.
#ifndef MUSTH_ENGINE_SQL_FUNCTIONS_H_
#define MUSTH_ENGINE_SQL_FUNCTIONS_H_

#include <span>
#include <string_view>

#include "engine/common/arena.h"
#include "engine/common/backend.h"
#include "engine/common/datum.h"
#include "engine/sql/types.h"

namespace engine {

// What a function may look at beside its arguments.
struct FunctionContext {
  Backend* be = nullptr;  // null while constants are folded
  Arena* arena = nullptr;
};

// Requires: no argument is null if the function is strict.
using BuiltinFunction = Status (*)(FunctionContext& context, const Datum* args,
                                   Datum* result);

// How far a result may be computed ahead. Source: pg_proc.provolatile.
enum class Volatility : uint8_t { kImmutable, kStable, kVolatile };

// What the executor does itself instead of calling through a pointer.
enum class FastOp : uint8_t { kNone, kLt, kLe, kEq, kNe, kGt, kGe };

inline constexpr int kMaxBuiltinArgs = 3;

struct Builtin {
  const char* name = nullptr;  // a function's name or an operator's symbol
  int nargs = 0;
  Oid args[kMaxBuiltinArgs] = {};
  Oid result = 0;
  BuiltinFunction function = nullptr;
  FastOp fast_op = FastOp::kNone;  // a comparison of two values of args[0]
  Volatility volatility = Volatility::kImmutable;
};

std::span<const Builtin> Operators();
std::span<const Builtin> Functions();

// In which contexts a cast happens by itself. Source: pg_cast.castcontext.
enum class CastContext : uint8_t { kImplicit, kAssignment, kExplicit };

struct CastRow {
  Oid from = 0;
  Oid to = 0;
  CastContext context = CastContext::kExplicit;
  BuiltinFunction function = nullptr;  // null: same representation
};

// Null if pg_cast has no such row.
const CastRow* FindCast(Oid from, Oid to);

// Names of PostgreSQL functions that Musth knows it does not have.
bool IsUnsupportedFunction(std::string_view name);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_FUNCTIONS_H_
