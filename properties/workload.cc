#include "properties/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/env/check.h"

namespace properties {
namespace {

using engine::Expr;
using engine::StatementBody;
using sim::Drawer;
using sim::Stream;

constexpr uint32_t kRowsPerSetupInsert = 50;
constexpr int64_t kPadBytes = 12;
// Five rows of the table that is only read fill a page, or many do.
constexpr size_t kLongNote = 1400;
constexpr size_t kShortNote = 4;
constexpr uint32_t kLongRows = 60;
constexpr uint32_t kLongRowsPerInsert = 20;  // as SQL text may be 64 KiB long
constexpr uint32_t kShortRows = 250;
// Ids of rows inserted by sessions start here, a range per session.
constexpr int64_t kFirstNewId = 1000000;
constexpr int64_t kIdsPerSession = 1000000;
// Statement qN's CREATE TABLE is followed by an INSERT with number N + 500.
constexpr uint32_t kInsertAfterCreate = 500;

std::string TableName(uint64_t n) { return fmt::format("t{}", n); }

engine::CreateTableStmt MakeCreateTable(std::string name) {
  auto column = [](const char* column_name, const char* type, bool not_null) {
    engine::ColumnDef def;
    def.name = column_name;
    def.type.name = type;
    def.not_null = not_null;
    return def;
  };
  engine::CreateTableStmt create;
  create.table = std::move(name);
  create.columns.push_back(column("id", "int4", true));
  create.columns.push_back(column("stamp", "int8", true));
  create.columns.push_back(column("val", "int4", false));
  create.columns.push_back(column("note", "text", false));
  create.columns.push_back(column("pad", "bpchar", false));
  create.columns.back().type.typmods = {kPadBytes};
  return create;
}

// Builds the statements of one run; every method draws from the Drawer that it
// is given and nowhere else.
class Generator {
 public:
  explicit Generator(const PlanKnobs& knobs) : knobs_(knobs) {}

  void Setup(Drawer root, Plan* plan) const {
    uint32_t number = 0;
    for (uint32_t table = 1; table <= knobs_.tables; ++table) {
      Add({0, 1, ++number}, MakeCreateTable(TableName(table)), &plan->setup);
      for (uint32_t first = 1; first <= knobs_.rows;
           first += kRowsPerSetupInsert) {
        StatementId id{0, 1, ++number};
        Drawer draw = root.Child("q", number);
        engine::InsertStmt insert;
        insert.table = TableName(table);
        uint32_t last = std::min(knobs_.rows, first + kRowsPerSetupInsert - 1);
        for (uint32_t row = first; row <= last; ++row) {
          insert.rows.push_back(
              MakeRow(row, MakeStamp(id, row - first), &draw));
        }
        Add(id, std::move(insert), &plan->setup);
      }
    }
  }

  // Behind Setup, so that its statements keep their numbers.
  void SetupScanned(Plan* plan) const {
    if (knobs_.scanned_rows == 0) return;
    size_t note = knobs_.scanned_long ? kLongNote : kShortNote;
    uint32_t per_insert =
        knobs_.scanned_long ? kLongRowsPerInsert : kRowsPerSetupInsert;
    auto number = static_cast<uint32_t>(plan->setup.size());
    Add({0, 1, ++number}, MakeCreateTable(ScannedTable()), &plan->setup);
    for (uint32_t first = 1; first <= knobs_.scanned_rows;
         first += per_insert) {
      StatementId id{0, 1, ++number};
      engine::InsertStmt insert;
      insert.table = ScannedTable();
      uint32_t last = std::min(knobs_.scanned_rows, first + per_insert - 1);
      for (uint32_t row = first; row <= last; ++row) {
        std::vector<Expr>& values = insert.rows.emplace_back();
        values.push_back(engine::IntConst(row));
        values.push_back(engine::IntConst(MakeStamp(id, row - first)));
        values.push_back(engine::IntConst(row % 10));
        values.push_back(engine::StringConst(std::string(note, 'z')));
        values.push_back(engine::NullConst());
      }
      Add(id, std::move(insert), &plan->setup);
    }
  }

  PlanTransaction Transaction(Drawer draw, uint32_t session,
                              uint32_t number) const {
    PlanTransaction t;
    t.number = number;
    t.block =
        !draw.Chance("single_statement", knobs_.single_statement_percent, 100);
    uint32_t count = 1;
    if (t.block) {
      if (draw.Chance("repeatable_read", knobs_.repeatable_read_percent, 100)) {
        t.isolation = engine::IsolationName::kRepeatableRead;
      }
      t.synchronous_commit = !draw.Chance("async", knobs_.async_percent, 100);
      t.rollback = draw.Chance("rollback", knobs_.rollback_percent, 100);
      count = static_cast<uint32_t>(
          draw.Between("statements", 1, std::max(1u, knobs_.statements)));
    }
    // Whether this transaction walks the ids downwards, against the others.
    bool reverse = draw.Chance("reverse", knobs_.reverse_order_percent, 100);
    for (uint32_t q = 1; q <= count; ++q) {
      StatementId id{session, number, q};
      Drawer at = draw.Child("q", q);
      uint32_t rank = reverse ? count - q : q - 1;
      AddDrawn(id, rank, count, &at, &t.statements);
    }
    return t;
  }

 private:
  std::string ScannedTable() const { return TableName(knobs_.tables + 1); }

  static void Add(StatementId id, StatementBody body,
                  std::vector<PlanStatement>* out) {
    PlanStatement step;
    step.id = id;
    step.statement = engine::Statement{std::move(body)};
    out->push_back(std::move(step));
  }

  Expr DrawNote(Drawer* draw) const {
    if (draw->Chance("null_note", 1, 8)) return engine::NullConst();
    // Mostly short, now and then as long as the knob allows.
    int64_t longest = std::min<int64_t>(knobs_.value_bytes, 1500);
    bool any_length = knobs_.bulky || draw->Chance("long_note", 1, 2);
    int64_t length =
        draw->Between("note_length", knobs_.bulky ? longest / 2 : 0,
                      any_length ? longest : std::min<int64_t>(longest, 8));
    auto letter = static_cast<char>('a' + draw->Below("note_letter", 26));
    return engine::StringConst(
        std::string(static_cast<size_t>(length), letter));
  }

  std::vector<Expr> MakeRow(int64_t id, int64_t stamp, Drawer* draw) const {
    std::vector<Expr> row;
    row.push_back(engine::IntConst(id));
    row.push_back(engine::IntConst(stamp));
    int64_t val = draw->Between("val", 0, 999);
    row.push_back(engine::IntConst(val));
    row.push_back(DrawNote(draw));
    if (draw->Chance("null_pad", 1, 4)) {
      row.push_back(engine::NullConst());
    } else {
      auto letter = static_cast<char>('A' + draw->Below("pad_letter", 26));
      row.push_back(engine::StringConst(std::string(3, letter)));
    }
    return row;
  }

  // Which rows a statement touches. rank of count spreads the statements of a
  // transaction over the ids in ascending (or, reversed, descending) order.
  Expr DrawWhere(uint32_t rank, uint32_t count, Drawer* draw) const {
    int64_t rows = std::max<int64_t>(1, knobs_.rows);
    int64_t low = 1 + rows * rank / count;
    int64_t high = std::max<int64_t>(low, rows * (rank + 1) / count);
    int64_t id = draw->Between("id", low, high);
    if (draw->Chance("multi_row", knobs_.multi_row_percent, 100)) {
      int64_t width = draw->Between("width", 1, std::max<int64_t>(2, rows / 2));
      return engine::Between(engine::Column("id"), engine::IntConst(id),
                             engine::IntConst(id + width));
    }
    // Now and then a row that a session inserted, if it ever did.
    if (draw->Chance("new_row", 1, 8)) {
      int64_t session = draw->Between("of_session", 1, knobs_.sessions);
      id = kFirstNewId + session * kIdsPerSession;
      return engine::Between(engine::Column("id"), engine::IntConst(id),
                             engine::IntConst(id + kIdsPerSession - 1));
    }
    return engine::Binary("=", engine::Column("id"), engine::IntConst(id));
  }

  bool Telling(const char* site, Drawer* draw) const {
    return knobs_.telling_percent != 0 &&
           draw->Chance(site, knobs_.telling_percent, 100);
  }

  // Narrows a condition to rows whose val, which every update changes, has
  // the right remainder.
  Expr DrawNarrowed(Expr where, Drawer* draw) const {
    if (!Telling("on_val", draw)) return where;
    int64_t modulus = draw->Between("modulus", 2, 3);
    int64_t remainder = draw->Between("remainder", 0, modulus - 1);
    Expr on_val = engine::Binary(
        "=",
        engine::Binary("%", engine::Column("val"), engine::IntConst(modulus)),
        engine::IntConst(remainder));
    return engine::And({std::move(where), std::move(on_val)});
  }

  // The note with the statement's stamp behind it, cut in front.
  Expr AppendedNote(StatementId id) const {
    int64_t longest = std::clamp<int64_t>(knobs_.value_bytes, 20, 200);
    Expr old = engine::Call("coalesce",
                            {engine::Column("note"), engine::StringConst("")});
    Expr longer = engine::Binary("||", std::move(old),
                                 engine::StringConst(id.ToString() + ";"));
    return engine::Call("right",
                        {std::move(longer), engine::IntConst(longest)});
  }

  std::vector<engine::TargetItem> DrawReturning(Drawer* draw) const {
    std::vector<engine::TargetItem> items;
    if (!Telling("returning", draw)) return items;
    for (const char* column : {"id", "val", "note"}) {
      items.emplace_back();
      items.back().expr = engine::Column(column);
    }
    return items;
  }

  static int64_t FirstNewId(const StatementId& id) {
    return kFirstNewId + id.session * kIdsPerSession + id.transaction * 1000 +
           id.statement * 10;
  }

  // Apart from all that are inserted one by one.
  static int64_t FirstCopyId(const StatementId& id) {
    return kFirstNewId + id.session * kIdsPerSession + kIdsPerSession / 2 +
           id.transaction * 10000 + id.statement * 1000;
  }

  StatementBody DrawInsert(StatementId id, const std::string& table,
                           Drawer* draw) const {
    engine::InsertStmt insert;
    insert.table = table;
    bool several = draw->Chance("multi_row", knobs_.multi_row_percent, 100);
    int64_t rows = several ? draw->Between("rows", 2, 4) : 1;
    for (int64_t n = 0; n < rows; ++n) {
      insert.rows.push_back(MakeRow(
          FirstNewId(id) + n, MakeStamp(id, static_cast<uint32_t>(n)), draw));
    }
    insert.returning = DrawReturning(draw);
    return insert;
  }

  StatementBody DrawUpdate(StatementId id, const std::string& table,
                           uint32_t rank, uint32_t count, Drawer* draw) const {
    engine::UpdateStmt update;
    update.table = table;
    auto set = [&update](const char* column, Expr value) {
      engine::SetClause clause;
      clause.column = column;
      clause.value = std::move(value);
      update.sets.push_back(std::move(clause));
    };
    set("stamp", engine::IntConst(MakeStamp(id, 0)));
    int64_t step = draw->Between("step", 1, 9);
    set("val",
        engine::Binary("+", engine::Column("val"), engine::IntConst(step)));
    if (draw->Chance("set_note", 1, 2)) {
      set("note",
          Telling("append_note", draw) ? AppendedNote(id) : DrawNote(draw));
    }
    update.where = DrawNarrowed(DrawWhere(rank, count, draw), draw);
    update.returning = DrawReturning(draw);
    return update;
  }

  // Groups of rows, or the first few of an order that has equals.
  static StatementBody DrawTellingSelect(engine::SelectStmt select,
                                         Drawer* draw) {
    Expr key = engine::Binary("%", engine::Column("val"), engine::IntConst(3));
    auto target = [&select](Expr expr) {
      select.targets.emplace_back();
      select.targets.back().expr = std::move(expr);
    };
    engine::SortItem sort;
    sort.expr = key;
    if (draw->Chance("group", 1, 2)) {
      target(key);
      target(engine::Call("count", {engine::Star()}));
      target(engine::Call("sum", {engine::Column("stamp")}));
      target(engine::Call("max", {engine::Column("note")}));
      select.group_by.push_back(key);
    } else {
      target(engine::Star());
      select.limit = engine::IntConst(draw->Between("limit", 1, 4));
    }
    sort.descending = draw->Chance("telling_descending", 1, 2);
    select.order_by.push_back(std::move(sort));
    return select;
  }

  StatementBody DrawSelect(const std::string& table, uint32_t rank,
                           uint32_t count, Drawer* draw) const {
    engine::SelectStmt select;
    select.from = engine::FromItem{};
    select.from->table = table;
    if (Telling("telling_select", draw)) {
      return DrawTellingSelect(std::move(select), draw);
    }
    auto target = [&select](Expr expr) {
      engine::TargetItem item;
      item.expr = std::move(expr);
      select.targets.push_back(std::move(item));
    };
    switch (draw->Below("select_kind", 3)) {
      case 0:
        target(engine::Star());
        select.where = DrawWhere(rank, count, draw);
        break;
      case 1:
        target(engine::Call("count", {engine::Star()}));
        target(engine::Call("sum", {engine::Column("val")}));
        target(engine::Call("min", {engine::Column("stamp")}));
        target(engine::Call("max", {engine::Column("id")}));
        break;
      default: {
        target(engine::Column("id"));
        target(engine::Column("val"));
        engine::SortItem sort;
        sort.expr = engine::Column("id");
        sort.descending = draw->Chance("descending", 1, 2);
        select.order_by.push_back(std::move(sort));
      }
    }
    return select;
  }

  void AddDrawn(StatementId id, uint32_t rank, uint32_t count, Drawer* draw,
                std::vector<PlanStatement>* out) const {
    // The simplest statement first.
    const uint32_t weights[] = {
        knobs_.select_weight,     knobs_.update_weight,
        knobs_.insert_weight,     knobs_.delete_weight,
        knobs_.checkpoint_weight, knobs_.create_table_weight,
        knobs_.copy_weight};
    std::string table = TableName(1 + draw->Below("table", knobs_.tables));
    switch (draw->Weighted("kind", weights)) {
      case 0:
        if (knobs_.scanned_rows > 0 && draw->Chance("scan", 1, 2)) {
          return Add(id, ScanWhole(), out);
        }
        return Add(id, DrawSelect(table, rank, count, draw), out);
      case 1:
        return Add(id, DrawUpdate(id, table, rank, count, draw), out);
      case 2:
        return Add(id, DrawInsert(id, table, draw), out);
      case 3: {
        engine::DeleteStmt del;
        del.table = table;
        del.where = DrawNarrowed(DrawWhere(rank, count, draw), draw);
        del.returning = DrawReturning(draw);
        return Add(id, std::move(del), out);
      }
      case 4:
        return Add(id, engine::CheckpointStmt{}, out);
      case 5:
        return AddTableOfItsOwn(id, draw, out);
      default:
        Add(id, DrawCopy(id, table, draw), out);
    }
  }

  // The first rows of the table that is only read, with ids and stamps of the
  // statement.
  StatementBody DrawCopy(StatementId id, const std::string& table,
                         Drawer* draw) const {
    SIM_CHECK(knobs_.scanned_rows > 0);
    engine::InsertStmt insert;
    insert.table = table;
    engine::SelectStmt& select = insert.select.emplace();
    select.from = engine::FromItem{};
    select.from->table = ScannedTable();
    auto target = [&select](Expr expr) {
      select.targets.emplace_back();
      select.targets.back().expr = std::move(expr);
    };
    target(engine::Binary("+", engine::Column("id"),
                          engine::IntConst(FirstCopyId(id))));
    target(engine::Binary("+", engine::Column("id"),
                          engine::IntConst(MakeStamp(id, 0))));
    for (const char* column : {"val", "note", "pad"}) {
      target(engine::Column(column));
    }
    select.where = engine::Binary(
        "<", engine::Column("id"),
        engine::IntConst(draw->Between("copies", 8, knobs_.scanned_rows)));
    return insert;
  }

  StatementBody ScanWhole() const {
    engine::SelectStmt select;
    select.from = engine::FromItem{};
    select.from->table = ScannedTable();
    select.targets.emplace_back();
    select.targets.back().expr = engine::Call("count", {engine::Star()});
    select.targets.emplace_back();
    select.targets.back().expr = engine::Call("sum", {engine::Column("val")});
    return select;
  }

  // A table whose name no other statement uses, and a row in it.
  void AddTableOfItsOwn(StatementId id, Drawer* draw,
                        std::vector<PlanStatement>* out) const {
    std::string name =
        fmt::format("n{}_{}_{}", id.session, id.transaction, id.statement);
    Add(id, MakeCreateTable(name), out);
    StatementId insert_id = id;
    insert_id.statement += kInsertAfterCreate;
    Add(insert_id, DrawInsert(insert_id, name, draw), out);
  }

  const PlanKnobs& knobs_;
};

}  // namespace

int64_t MakeStamp(const StatementId& id, uint32_t n) {
  return ((static_cast<int64_t>(id.session) * 100000 + id.transaction) * 1000 +
          id.statement) *
             1000 +
         n;
}

StatementId StampOwner(int64_t stamp) {
  stamp /= 1000;
  StatementId id;
  id.statement = static_cast<uint32_t>(stamp % 1000);
  stamp /= 1000;
  id.transaction = static_cast<uint32_t>(stamp % 100000);
  id.session = static_cast<uint32_t>(stamp / 100000);
  return id;
}

PlanKnobs DrawPlanKnobs(sim::Choices& choices, const sim::Scope& scope) {
  Drawer draw(&choices, Stream::kKnobs, scope.Child("plan"));
  PlanKnobs k;
  const uint32_t session_weights[] = {35, 30, 20, 15};  // of 2, 3, 4, 1
  k.sessions =
      2 + static_cast<uint32_t>(draw.Weighted("sessions", session_weights));
  if (k.sessions == 5) k.sessions = 1;
  k.tables = static_cast<uint32_t>(draw.Between("tables", 1, 2));
  k.rows = static_cast<uint32_t>(draw.Between("rows", 3, 12));
  if (draw.Chance("many_rows", 1, 10)) {
    k.rows = static_cast<uint32_t>(draw.Between("many", 100, 400));
  }
  k.transactions = static_cast<uint32_t>(draw.Between("transactions", 2, 6));
  k.statements = static_cast<uint32_t>(draw.Between("statements", 1, 4));
  const uint32_t size_weights[] = {5, 3, 2};
  const uint32_t sizes[] = {20, 200, 1500};
  k.value_bytes = sizes[draw.Weighted("value_bytes", size_weights)];
  if (draw.Chance("bulky", 1, 4)) {
    k.bulky = true;
    k.value_bytes = 1500;
  }
  if (draw.Chance("telling", 1, 3)) k.telling_percent = 40;
  auto sometimes_off = [&draw](std::string_view name, uint32_t* weight) {
    if (draw.Chance(name, 1, 4)) *weight = 0;
  };
  sometimes_off("no_insert", &k.insert_weight);
  sometimes_off("no_delete", &k.delete_weight);
  sometimes_off("no_select", &k.select_weight);
  sometimes_off("no_checkpoint", &k.checkpoint_weight);
  sometimes_off("no_create_table", &k.create_table_weight);
  sometimes_off("no_rollback", &k.rollback_percent);
  sometimes_off("no_async", &k.async_percent);
  sometimes_off("no_repeatable_read", &k.repeatable_read_percent);
  sometimes_off("no_single", &k.single_statement_percent);
  sometimes_off("no_multi_row", &k.multi_row_percent);
  sometimes_off("no_reverse", &k.reverse_order_percent);
  if (draw.Chance("scanned_table", 1, 8)) {
    k.scanned_rows = kLongRows;
    k.select_weight = 5;
  }
  // Tables come and go: many transactions create one, many of them roll back,
  // while checkpoints write and sync the files.
  if (draw.Chance("fleeting_tables", 1, 8)) {
    k.create_table_weight = 6;
    k.checkpoint_weight = 3;
    k.rollback_percent = 60;
  }
  return k;
}

void LoadInBulk(bool long_rows, PlanKnobs* knobs) {
  knobs->copy_weight = long_rows ? 4 : 8;
  knobs->checkpoint_weight = 2;
  knobs->scanned_long = long_rows;
  knobs->scanned_rows = long_rows ? kLongRows : kShortRows;
}

Plan GeneratePlan(sim::Choices& choices, const sim::Scope& scope,
                  const PlanKnobs& knobs) {
  SIM_CHECK(knobs.sessions >= 1 && knobs.tables >= 1);
  Generator generator(knobs);
  Plan plan;
  Drawer root(&choices, Stream::kWorkload, scope);
  generator.Setup(root.Child("s", 0), &plan);
  generator.SetupScanned(&plan);
  for (uint32_t s = 1; s <= knobs.sessions; ++s) {
    PlanSession session;
    session.number = s;
    Drawer at = root.Child("s", s);
    for (uint32_t t = 1; t <= knobs.transactions; ++t) {
      session.transactions.push_back(
          generator.Transaction(at.Child("t", t), s, t));
    }
    plan.sessions.push_back(std::move(session));
  }
  return plan;
}

}  // namespace properties
