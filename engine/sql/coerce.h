// Type resolution: casts, and which operator or function a call means.
// Source: src/backend/parser/{parse_coerce,parse_func,parse_oper}.c.
#ifndef MUSTH_ENGINE_SQL_COERCE_H_
#define MUSTH_ENGINE_SQL_COERCE_H_

#include <span>
#include <string_view>
#include <vector>

#include "engine/sql/expr.h"

namespace engine {

// True if a value of type from becomes one of type to in this context.
bool CanCoerce(Oid from, Oid to, CastContext context);

// node as a value of type to, without regard to lengths. A quoted literal goes
// through the type's input function here and now.
// Requires: CanCoerce(). Errors: 22P02 and the like, at the literal.
Result<ExprNode> CoerceType(ExprNode node, Oid to, Arena& arena);

// CoerceType, then the length of to(typmod).
// Errors: 42846 "cannot cast type %s to %s" (explicit casts).
Result<ExprNode> CoerceToTarget(ExprNode node, Oid to, int32_t typmod,
                                CastContext context, Arena& arena,
                                int position);

// Picks the row of table that name with these argument types means.
// Errors: 42883, 42725, 0A000.
Result<const Builtin*> ResolveBuiltin(std::span<const Builtin> table,
                                      std::string_view name,
                                      std::span<const Oid> types, int position);

// The call of builtin on args, with the casts it needs.
Result<ExprNode> MakeCall(const Builtin& builtin, std::vector<ExprNode> args,
                          Arena& arena, int position);

// The type that CASE, COALESCE and the like give their results.
// Errors: 42804 "%s types %s and %s cannot be matched".
Result<Oid> SelectCommonType(std::span<const ExprNode> nodes,
                             std::string_view construct);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_COERCE_H_
