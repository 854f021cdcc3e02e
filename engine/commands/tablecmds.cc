#include "engine/commands/tablecmds.h"

#include <algorithm>
#include <iterator>

#include "engine/catalog/pg_type.h"
#include "engine/catalog/relcache.h"
#include "engine/common/errcodes.h"
#include "engine/sql/types.h"

namespace engine {
namespace {

constexpr size_t kMaxHeapAttributeNumber = 1600;

constexpr std::string_view kSystemColumnNames[] = {"ctid", "xmin", "cmin",
                                                   "xmax", "cmax", "tableoid"};

constexpr std::string_view kSerialTypes[] = {
    "serial", "serial2", "serial4", "serial8", "bigserial", "smallserial"};

template <typename Range>
bool Contains(const Range& range, std::string_view name) {
  return std::find(std::begin(range), std::end(range), name) != std::end(range);
}

Result<Attribute> BuildAttribute(const ColumnDef& def) {
  const TypeInfo* type = FindTypeByName(def.type.name);
  if (Contains(kSerialTypes, def.type.name) ||
      (type != nullptr && !type->storable)) {
    return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                    "a column of type {} is not supported", def.type.name)
        .WithCursor(def.type.position);
  }
  if (type == nullptr) {
    return SqlError(ERRCODE_UNDEFINED_OBJECT, "type \"{}\" does not exist",
                    def.type.name)
        .WithCursor(def.type.position);
  }
  Result<int32_t> typmod = TypeModIn(*type, def.type.typmods);
  if (!typmod.ok()) {
    return std::move(typmod).status().WithCursor(def.type.position);
  }
  return MakeAttribute(def.name, type->oid, *typmod, def.not_null);
}

}  // namespace

Result<TupleDesc> BuildDescForRelation(const CreateTableStmt& stmt) {
  if (stmt.columns.size() > kMaxHeapAttributeNumber) {
    return SqlError(ERRCODE_TOO_MANY_COLUMNS,
                    "tables can have at most {} columns",
                    kMaxHeapAttributeNumber);
  }
  TupleDesc desc;
  for (const ColumnDef& def : stmt.columns) {
    bool twice = std::any_of(
        desc.begin(), desc.end(),
        [&def](const Attribute& att) { return att.attname == def.name; });
    if (twice) {
      return SqlError(ERRCODE_DUPLICATE_COLUMN,
                      "column \"{}\" specified more than once", def.name);
    }
    ASSIGN_OR_RETURN(Attribute att, BuildAttribute(def));
    desc.push_back(std::move(att));
  }
  for (const ColumnDef& def : stmt.columns) {
    if (Contains(kSystemColumnNames, def.name)) {
      return SqlError(ERRCODE_DUPLICATE_COLUMN,
                      "column name \"{}\" conflicts with a system column name",
                      def.name);
    }
  }
  return desc;
}

Status DefineRelation(Backend& be, const CreateTableStmt& stmt,
                      std::vector<std::string>* notices) {
  ASSIGN_OR_RETURN(TupleDesc desc, BuildDescForRelation(stmt));
  Status status;
  // Looking first spares IF NOT EXISTS a transaction id.
  Result<Relation> existing = RelationByName(be, stmt.table);
  if (existing.ok()) {
    status = SqlError(ERRCODE_DUPLICATE_TABLE, "relation \"{}\" already exists",
                      stmt.table);
  } else if (existing.status().sqlstate() != ERRCODE_UNDEFINED_TABLE) {
    return std::move(existing).status();
  } else {
    status = CreateTable(be, stmt.table, desc, stmt.fillfactor).status();
  }
  if (!stmt.if_not_exists || status.sqlstate() != ERRCODE_DUPLICATE_TABLE) {
    return status;
  }
  notices->push_back(fmt::format(
      "NOTICE:  relation \"{}\" already exists, skipping", stmt.table));
  return {};
}

Status RemoveRelations(Backend& be, const DropTableStmt& stmt,
                       std::vector<std::string>* notices) {
  for (const std::string& table : stmt.tables) {
    Result<Relation> rel = RelationByName(be, table);
    if (rel.ok()) {
      return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED,
                      "DROP TABLE of an existing table is not supported");
    }
    if (rel.status().sqlstate() != ERRCODE_UNDEFINED_TABLE) {
      return std::move(rel).status();
    }
    if (!stmt.if_exists) {
      return SqlError(ERRCODE_UNDEFINED_TABLE, "table \"{}\" does not exist",
                      table);
    }
    notices->push_back(
        fmt::format("NOTICE:  table \"{}\" does not exist, skipping", table));
  }
  return {};
}

}  // namespace engine
