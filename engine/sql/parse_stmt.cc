// Statements of libpg_query's tree; expressions are in parse_expr.cc.
#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/common/errcodes.h"
#include "engine/sql/parse_tree.h"

namespace engine {
namespace {

bool IsKnownSchema(const std::string& schema) {
  return schema.empty() || schema == "public" || schema == "pg_catalog";
}

std::string RangeVarName(const PgQuery__RangeVar& r) {
  std::string name;
  if (r.catalogname[0] != '\0') name += std::string(r.catalogname) + ".";
  if (r.schemaname[0] != '\0') name += std::string(r.schemaname) + ".";
  return name + r.relname;
}

const char* ConstraintName(PgQuery__ConstrType type) {
  switch (type) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT:
      return "DEFAULT";
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY:
      return "IDENTITY";
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED:
      return "GENERATED";
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK:
      return "CHECK";
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
      return "PRIMARY KEY";
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE:
      return "UNIQUE";
    case PG_QUERY__CONSTR_TYPE__CONSTR_EXCLUSION:
      return "EXCLUDE";
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN:
      return "REFERENCES";
    default:
      return "DEFERRABLE";
  }
}

const char* TransactionName(PgQuery__TransactionStmtKind kind) {
  switch (kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT:
      return "SAVEPOINT";
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE:
      return "RELEASE SAVEPOINT";
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO:
      return "ROLLBACK TO SAVEPOINT";
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_PREPARE:
      return "PREPARE TRANSACTION";
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT_PREPARED:
      return "COMMIT PREPARED";
    default:
      return "ROLLBACK PREPARED";
  }
}

}  // namespace

Result<Statement> TreeConverter::ConvertStatement(const PgQuery__Node& node) {
  Statement out;
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertSelect(*node.select_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_INSERT_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertInsert(*node.insert_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_UPDATE_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertUpdate(*node.update_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_DELETE_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertDelete(*node.delete_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_CREATE_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertCreate(*node.create_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_DROP_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertDrop(*node.drop_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertTransaction(*node.transaction_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT: {
      ASSIGN_OR_RETURN(out.body, ConvertSet(*node.variable_set_stmt));
      return out;
    }
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT:
      out.body = ShowStmt{node.variable_show_stmt->name};
      return out;
    case PG_QUERY__NODE__NODE_CHECK_POINT_STMT:
      out.body = CheckpointStmt{};
      return out;
    default:
      return NotSupported(ConstructName(node));
  }
}

Status TreeConverter::CheckRangeVar(const PgQuery__RangeVar& r) const {
  if (r.catalogname[0] != '\0' || !IsKnownSchema(r.schemaname)) {
    return SqlError(ERRCODE_UNDEFINED_TABLE, "relation \"{}\" does not exist",
                    RangeVarName(r))
        .WithCursor(Position(r.location));
  }
  if (r.alias != nullptr && r.alias->n_colnames > 0) {
    return NotSupported("column alias list", Position(r.location));
  }
  return {};
}

Result<std::vector<TargetItem>> TreeConverter::ConvertTargets(
    size_t n, PgQuery__Node** nodes) {
  std::vector<TargetItem> out;
  for (size_t i = 0; i < n; ++i) {
    const PgQuery__ResTarget& target = *nodes[i]->res_target;
    TargetItem item;
    RETURN_IF_ERROR(ConvertExpr(*target.val, &item.expr));
    item.alias = target.name;
    out.push_back(std::move(item));
  }
  return out;
}

Result<FromItem> TreeConverter::ConvertFrom(const PgQuery__Node& node) {
  FromItem out;
  if (node.node_case == PG_QUERY__NODE__NODE_RANGE_VAR) {
    const PgQuery__RangeVar& r = *node.range_var;
    RETURN_IF_ERROR(CheckRangeVar(r));
    out.table = r.relname;
    out.position = Position(r.location);
    if (r.alias != nullptr) out.alias = r.alias->aliasname;
    return out;
  }
  if (node.node_case != PG_QUERY__NODE__NODE_RANGE_FUNCTION) {
    return NotSupported(ConstructName(node));
  }
  const PgQuery__RangeFunction& f = *node.range_function;
  bool plain = f.ordinality == 0 && f.is_rowsfrom == 0 && f.n_functions == 1 &&
               f.n_coldeflist == 0 &&
               (f.alias == nullptr || f.alias->n_colnames == 0) &&
               f.functions[0]->node_case == PG_QUERY__NODE__NODE_LIST;
  if (!plain) return NotSupported("this form of a function in FROM");
  RETURN_IF_ERROR(
      ConvertExpr(*f.functions[0]->list->items[0], &out.function.emplace()));
  out.position = out.function->position;
  if (f.alias != nullptr) out.alias = f.alias->aliasname;
  return out;
}

Result<SelectStmt> TreeConverter::ConvertSelect(const PgQuery__SelectStmt& s) {
  if (s.op != PG_QUERY__SET_OPERATION__SETOP_NONE) {
    return NotSupported("UNION, INTERSECT or EXCEPT");
  }
  if (s.with_clause != nullptr) return NotSupported("WITH");
  if (s.n_distinct_clause > 0) return NotSupported("SELECT DISTINCT");
  if (s.into_clause != nullptr) return NotSupported("SELECT INTO");
  if (s.having_clause != nullptr) return NotSupported("HAVING");
  if (s.n_window_clause > 0) return NotSupported("WINDOW");
  if (s.n_values_lists > 0) return NotSupported("VALUES as a statement");
  if (s.n_locking_clause > 0) {
    return NotSupported("SELECT FOR UPDATE or FOR SHARE");
  }
  if (s.n_from_clause > 1) return NotSupported("JOIN");
  if (s.limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES) {
    return NotSupported("FETCH FIRST WITH TIES");
  }
  SelectStmt out;
  ASSIGN_OR_RETURN(out.targets, ConvertTargets(s.n_target_list, s.target_list));
  if (s.n_from_clause == 1) {
    ASSIGN_OR_RETURN(out.from, ConvertFrom(*s.from_clause[0]));
  }
  if (s.where_clause != nullptr) {
    RETURN_IF_ERROR(ConvertExpr(*s.where_clause, &out.where.emplace()));
  }
  RETURN_IF_ERROR(ConvertArgs(s.n_group_clause, s.group_clause, &out.group_by));
  for (size_t i = 0; i < s.n_sort_clause; ++i) {
    const PgQuery__SortBy& by = *s.sort_clause[i]->sort_by;
    if (by.n_use_op > 0) return NotSupported("ORDER BY USING");
    SortItem item;
    RETURN_IF_ERROR(ConvertExpr(*by.node, &item.expr));
    item.descending = by.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
    if (by.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST) {
      item.nulls_first = true;
    } else if (by.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST) {
      item.nulls_first = false;
    }
    out.order_by.push_back(std::move(item));
  }
  if (s.limit_count != nullptr) {
    RETURN_IF_ERROR(ConvertExpr(*s.limit_count, &out.limit.emplace()));
  }
  if (s.limit_offset != nullptr) {
    RETURN_IF_ERROR(ConvertExpr(*s.limit_offset, &out.offset.emplace()));
  }
  return out;
}

Result<InsertStmt> TreeConverter::ConvertInsert(const PgQuery__InsertStmt& s) {
  if (s.with_clause != nullptr) return NotSupported("WITH");
  if (s.on_conflict_clause != nullptr) return NotSupported("ON CONFLICT");
  if (s.override > PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET) {
    return NotSupported("OVERRIDING");
  }
  RETURN_IF_ERROR(CheckRangeVar(*s.relation));
  InsertStmt out;
  out.table = s.relation->relname;
  out.position = Position(s.relation->location);
  for (size_t i = 0; i < s.n_cols; ++i) {
    const PgQuery__ResTarget& col = *s.cols[i]->res_target;
    if (col.n_indirection > 0) {
      return NotSupported("subscript or field in INSERT's column list");
    }
    out.columns.push_back(col.name);
    out.column_positions.push_back(Position(col.location));
  }
  ASSIGN_OR_RETURN(out.returning,
                   ConvertTargets(s.n_returning_list, s.returning_list));
  if (s.select_stmt == nullptr) {  // DEFAULT VALUES
    out.rows.emplace_back();
    return out;
  }
  const PgQuery__SelectStmt& source = *s.select_stmt->select_stmt;
  if (source.n_values_lists == 0) {
    ASSIGN_OR_RETURN(out.select, ConvertSelect(source));
    return out;
  }
  if (source.n_sort_clause > 0 || source.limit_count != nullptr ||
      source.limit_offset != nullptr || source.with_clause != nullptr) {
    return NotSupported("ORDER BY, LIMIT or WITH on VALUES");
  }
  for (size_t i = 0; i < source.n_values_lists; ++i) {
    const PgQuery__List& list = *source.values_lists[i]->list;
    out.rows.emplace_back();
    RETURN_IF_ERROR(ConvertArgs(list.n_items, list.items, &out.rows.back()));
  }
  return out;
}

Result<UpdateStmt> TreeConverter::ConvertUpdate(const PgQuery__UpdateStmt& s) {
  if (s.with_clause != nullptr) return NotSupported("WITH");
  if (s.n_from_clause > 0) return NotSupported("UPDATE FROM");
  RETURN_IF_ERROR(CheckRangeVar(*s.relation));
  UpdateStmt out;
  out.table = s.relation->relname;
  out.position = Position(s.relation->location);
  if (s.relation->alias != nullptr) out.alias = s.relation->alias->aliasname;
  for (size_t i = 0; i < s.n_target_list; ++i) {
    const PgQuery__ResTarget& target = *s.target_list[i]->res_target;
    if (target.n_indirection > 0) {
      return NotSupported("subscript or field in SET",
                          Position(target.location));
    }
    SetClause set;
    set.column = target.name;
    set.position = Position(target.location);
    RETURN_IF_ERROR(ConvertExpr(*target.val, &set.value));
    out.sets.push_back(std::move(set));
  }
  if (s.where_clause != nullptr) {
    RETURN_IF_ERROR(ConvertExpr(*s.where_clause, &out.where.emplace()));
  }
  ASSIGN_OR_RETURN(out.returning,
                   ConvertTargets(s.n_returning_list, s.returning_list));
  return out;
}

Result<DeleteStmt> TreeConverter::ConvertDelete(const PgQuery__DeleteStmt& s) {
  if (s.with_clause != nullptr) return NotSupported("WITH");
  if (s.n_using_clause > 0) return NotSupported("DELETE USING");
  RETURN_IF_ERROR(CheckRangeVar(*s.relation));
  DeleteStmt out;
  out.table = s.relation->relname;
  out.position = Position(s.relation->location);
  if (s.relation->alias != nullptr) out.alias = s.relation->alias->aliasname;
  if (s.where_clause != nullptr) {
    RETURN_IF_ERROR(ConvertExpr(*s.where_clause, &out.where.emplace()));
  }
  ASSIGN_OR_RETURN(out.returning,
                   ConvertTargets(s.n_returning_list, s.returning_list));
  return out;
}

Result<ColumnDef> TreeConverter::ConvertColumnDef(const PgQuery__ColumnDef& d) {
  ColumnDef out;
  out.name = d.colname;
  int position = Position(d.location);
  if (d.type_name == nullptr) return NotSupported("column without a type");
  ASSIGN_OR_RETURN(out.type, ConvertTypeName(*d.type_name));
  if (d.coll_clause != nullptr) return NotSupported("COLLATE", position);
  if (d.compression[0] != '\0') return NotSupported("COMPRESSION", position);
  bool null_seen = false;
  for (size_t i = 0; i < d.n_constraints; ++i) {
    const PgQuery__Constraint& c = *d.constraints[i]->constraint;
    if (c.contype == PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL) {
      out.not_null = true;
    } else if (c.contype == PG_QUERY__CONSTR_TYPE__CONSTR_NULL) {
      null_seen = true;
    } else {
      return NotSupported(ConstraintName(c.contype), Position(c.location));
    }
  }
  if (null_seen && out.not_null) {
    return SqlError(ERRCODE_SYNTAX_ERROR,
                    "conflicting NULL/NOT NULL declarations for column \"{}\"",
                    out.name)
        .WithCursor(position);
  }
  return out;
}

Status TreeConverter::ConvertOptions(size_t n, PgQuery__Node** options,
                                     CreateTableStmt* out) {
  for (size_t i = 0; i < n; ++i) {
    const PgQuery__DefElem& option = *options[i]->def_elem;
    if (std::string_view(option.defname) != "fillfactor") {
      return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                      "unrecognized parameter \"{}\"", option.defname);
    }
    std::string text = option.arg == nullptr ? "" : NodeText(*option.arg);
    bool number = !text.empty() && text.size() <= 9 &&
                  std::all_of(text.begin(), text.end(),
                              [](char c) { return c >= '0' && c <= '9'; });
    if (!number) {
      return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                      "invalid value for integer option \"fillfactor\": {}",
                      text);
    }
    out->fillfactor = std::stoi(text);
    if (out->fillfactor < 10 || out->fillfactor > 100) {
      return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                      "value {} out of bounds for option \"fillfactor\"", text)
          .WithDetail("Valid values are between \"10\" and \"100\".");
    }
  }
  return {};
}

Result<CreateTableStmt> TreeConverter::ConvertCreate(
    const PgQuery__CreateStmt& s) {
  const PgQuery__RangeVar& r = *s.relation;
  RETURN_IF_ERROR(CheckRangeVar(r));
  if (r.relpersistence[0] == 't') return NotSupported("TEMPORARY");
  if (r.relpersistence[0] == 'u') return NotSupported("UNLOGGED");
  if (s.n_inh_relations > 0) return NotSupported("INHERITS");
  if (s.partbound != nullptr || s.partspec != nullptr) {
    return NotSupported("PARTITION");
  }
  if (s.of_typename != nullptr) return NotSupported("CREATE TABLE OF");
  if (s.n_constraints > 0) return NotSupported("table constraint");
  if (s.tablespacename[0] != '\0') return NotSupported("TABLESPACE");
  std::string_view method = s.access_method;
  if (!method.empty() && method != "heap") {
    return SqlError(ERRCODE_UNDEFINED_OBJECT,
                    "access method \"{}\" does not exist", method);
  }
  CreateTableStmt out;
  out.table = r.relname;
  out.position = Position(r.location);
  out.if_not_exists = s.if_not_exists != 0;
  for (size_t i = 0; i < s.n_table_elts; ++i) {
    const PgQuery__Node& element = *s.table_elts[i];
    if (element.node_case == PG_QUERY__NODE__NODE_CONSTRAINT) {
      return NotSupported(ConstraintName(element.constraint->contype),
                          Position(element.constraint->location));
    }
    if (element.node_case != PG_QUERY__NODE__NODE_COLUMN_DEF) {
      return NotSupported(ConstructName(element));
    }
    ASSIGN_OR_RETURN(ColumnDef def, ConvertColumnDef(*element.column_def));
    out.columns.push_back(std::move(def));
  }
  RETURN_IF_ERROR(ConvertOptions(s.n_options, s.options, &out));
  return out;
}

Result<TransactionModes> TreeConverter::ConvertModes(size_t n,
                                                     PgQuery__Node** options) {
  TransactionModes out;
  for (size_t i = 0; i < n; ++i) {
    const PgQuery__DefElem& option = *options[i]->def_elem;
    std::string_view name = option.defname;
    std::string value = NodeText(*option.arg);
    if (name == "transaction_isolation") {
      out.isolation =
          value == "serializable"      ? IsolationName::kSerializable
          : value == "repeatable read" ? IsolationName::kRepeatableRead
          : value == "read committed"  ? IsolationName::kReadCommitted
                                       : IsolationName::kReadUncommitted;
    } else if (name == "transaction_read_only") {
      out.read_only = value == "1";
    } else if (value == "1") {
      return NotSupported("DEFERRABLE", Position(option.location));
    }
  }
  return out;
}

Result<StatementBody> TreeConverter::ConvertTransaction(
    const PgQuery__TransactionStmt& s) {
  switch (s.kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN:
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START: {
      BeginStmt begin;
      ASSIGN_OR_RETURN(begin.modes, ConvertModes(s.n_options, s.options));
      begin.start_transaction =
          s.kind == PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START;
      return StatementBody(begin);
    }
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT:
      if (s.chain != 0) return NotSupported("AND CHAIN");
      return StatementBody(CommitStmt{});
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK:
      if (s.chain != 0) return NotSupported("AND CHAIN");
      return StatementBody(RollbackStmt{});
    default:
      return NotSupported(TransactionName(s.kind));
  }
}

Result<StatementBody> TreeConverter::ConvertSet(
    const PgQuery__VariableSetStmt& s) {
  std::string name = s.name;
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_SET_MULTI) {
    if (name == "TRANSACTION SNAPSHOT") {
      return NotSupported("SET TRANSACTION SNAPSHOT");
    }
    SetTransactionStmt out;
    ASSIGN_OR_RETURN(out.modes, ConvertModes(s.n_args, s.args));
    out.session = name == "SESSION CHARACTERISTICS";
    return StatementBody(out);
  }
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL) {
    return NotSupported("RESET ALL");
  }
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_SET_CURRENT) {
    return NotSupported("SET FROM CURRENT");
  }
  SetVariableStmt out;
  for (char c : name) {
    out.name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  out.local = s.is_local != 0;
  out.reset = s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET;
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_SET_VALUE) {
    std::string value;
    for (size_t i = 0; i < s.n_args; ++i) {
      if (s.args[i]->node_case != PG_QUERY__NODE__NODE_A_CONST) {
        return NotSupported("this value of SET");
      }
      if (i > 0) value += ", ";
      value += NodeText(*s.args[i]);
    }
    out.value = value;
  }
  return StatementBody(out);
}

Result<DropTableStmt> TreeConverter::ConvertDrop(const PgQuery__DropStmt& s) {
  if (s.remove_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE) {
    return NotSupported("DROP of anything but a table");
  }
  DropTableStmt out;
  out.if_exists = s.missing_ok != 0;
  for (size_t i = 0; i < s.n_objects; ++i) {
    const PgQuery__List& names = *s.objects[i]->list;
    out.tables.push_back(NodeText(*names.items[names.n_items - 1]));
  }
  return out;
}

}  // namespace engine
