// CREATE TABLE and DROP TABLE.
// Source: src/backend/commands/tablecmds.c, src/backend/catalog/heap.c.
#ifndef MUSTH_ENGINE_COMMANDS_TABLECMDS_H_
#define MUSTH_ENGINE_COMMANDS_TABLECMDS_H_

#include <string>
#include <vector>

#include "engine/common/backend.h"
#include "engine/heap/tupdesc.h"
#include "engine/sql/ast.h"

namespace engine {

// The columns of a CREATE TABLE. Suspends: no.
// Errors: 42701, 42704, 54011, 22023; 0A000 for types without storage.
Result<TupleDesc> BuildDescForRelation(const CreateTableStmt& stmt);

// Creates the table, or says in *notices that it is there (IF NOT EXISTS).
// Suspends: yes. Errors: 42P07 and those of BuildDescForRelation.
Status DefineRelation(Backend& be, const CreateTableStmt& stmt,
                      std::vector<std::string>* notices);

// DROP TABLE, as far as the tables do not exist: those that do are 0A000,
// since nothing protects their readers yet.
// Suspends: yes. Errors: 42P01, 0A000.
Status RemoveRelations(Backend& be, const DropTableStmt& stmt,
                       std::vector<std::string>* notices);

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMANDS_TABLECMDS_H_
