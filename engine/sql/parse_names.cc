// How refusals call what they refuse.
#include <cctype>
#include <string>

#include "engine/common/errcodes.h"
#include "engine/sql/parse_tree.h"

namespace engine {
namespace {

struct NamedConstruct {
  PgQuery__Node__NodeCase node_case;
  const char* name;
};
// Where the node's own name would puzzle a reader.
constexpr NamedConstruct kConstructNames[] = {
    {PG_QUERY__NODE__NODE_SUB_LINK, "subquery"},
    {PG_QUERY__NODE__NODE_RANGE_SUBSELECT, "subquery in FROM"},
    {PG_QUERY__NODE__NODE_JOIN_EXPR, "JOIN"},
    {PG_QUERY__NODE__NODE_A_ARRAY_EXPR, "ARRAY"},
    {PG_QUERY__NODE__NODE_A_INDIRECTION, "subscript or field selection"},
    {PG_QUERY__NODE__NODE_ROW_EXPR, "ROW"},
    {PG_QUERY__NODE__NODE_COLLATE_CLAUSE, "COLLATE"},
    {PG_QUERY__NODE__NODE_GROUPING_SET, "GROUPING SETS"},
    {PG_QUERY__NODE__NODE_INDEX_STMT, "CREATE INDEX"},
    {PG_QUERY__NODE__NODE_VIEW_STMT, "CREATE VIEW"},
    {PG_QUERY__NODE__NODE_CREATE_SEQ_STMT, "CREATE SEQUENCE"},
    {PG_QUERY__NODE__NODE_CREATE_TRIG_STMT, "CREATE TRIGGER"},
    {PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT, "CREATE TABLE AS"},
    {PG_QUERY__NODE__NODE_LOCK_STMT, "LOCK TABLE"},
    {PG_QUERY__NODE__NODE_TRUNCATE_STMT, "TRUNCATE TABLE"},
    {PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT, "DECLARE CURSOR"},
    {PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT, "CLOSE"},
    {PG_QUERY__NODE__NODE_DEFINE_STMT, "CREATE AGGREGATE, OPERATOR or TYPE"},
    {PG_QUERY__NODE__NODE_CONSTRAINTS_SET_STMT, "SET CONSTRAINTS"},
    {PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE, "LIKE in CREATE TABLE"},
    {PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF, "SET (a, b) = (...)"},
};

}  // namespace

Status NotSupported(std::string_view construct, int position) {
  return SqlError(ERRCODE_FEATURE_NOT_SUPPORTED, "{} is not supported",
                  construct)
      .WithCursor(position);
}

Status TooComplex() {
  return SqlError(ERRCODE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
}

std::string ConstructName(const PgQuery__Node& node) {
  for (const NamedConstruct& named : kConstructNames) {
    if (named.node_case == node.node_case) return named.name;
  }
  // "alter_table_stmt" to "ALTER TABLE".
  const ProtobufCFieldDescriptor* field =
      protobuf_c_message_descriptor_get_field(
          &pg_query__node__descriptor, static_cast<unsigned>(node.node_case));
  std::string name = field == nullptr ? "this construct" : field->name;
  constexpr std::string_view kSuffix = "_stmt";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  for (char& c : name) {
    c = c == '_'
            ? ' '
            : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace engine
