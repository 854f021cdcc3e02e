// Creating relations: CreateTable() and the bootstrap of the catalogs.
// Source: src/backend/catalog/heap.c heap_create_with_catalog(),
// src/backend/bootstrap/bootstrap.c.
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "engine/buffer/buffer_guard.h"
#include "engine/catalog/catalog_shared.h"
#include "engine/catalog/catalog_tables.h"
#include "engine/catalog/relcache.h"
#include "engine/catalog/storage.h"
#include "engine/common/errcodes.h"
#include "engine/heap/heapam.h"
#include "engine/lock/lmgr.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/procarray.h"
#include "engine/txn/varsup.h"
#include "engine/txn/xact.h"
#include "engine/wal/xloginsert.h"
#include "sim/env/race.h"

namespace engine {
namespace {

// Enters the name for xid, or returns the running transaction that has it.
// Suspends: no.
TransactionId TryReserveName(Backend& be,
                             std::map<std::string, TransactionId>& names,
                             const std::string& name, TransactionId xid) {
  // The lock of the leaf of PostgreSQL's pg_class_relname_nsp_index.
  env::AtomicSection content_lock(&names);
  auto found = names.find(name);
  if (found != names.end() && found->second != xid &&
      TransactionIdIsInProgress(be, found->second)) {
    return found->second;
  }
  // Ended transactions' entries go.
  for (auto it = names.begin(); it != names.end();) {
    it = TransactionIdIsInProgress(be, it->second) ? std::next(it)
                                                   : names.erase(it);
  }
  names[name] = xid;
  return kInvalidTransactionId;
}

// Becomes the only transaction that creates a relation of that name, after
// waiting for another one that does. Without a unique index, this is what
// keeps two tables of one name from being committed.
// Suspends: yes. Errors: 40P01.
Status ReserveName(Backend& be, const std::string& name) {
  ASSIGN_OR_RETURN(TransactionId xid, GetCurrentTransactionId(be));
  std::map<std::string, TransactionId>& names =
      SharedCatalog(be).names_in_creation;
  for (;;) {
    TransactionId other = TryReserveName(be, names, name, xid);
    if (other == kInvalidTransactionId) return {};
    RETURN_IF_ERROR(XactLockTableWait(be, other));
  }
}

// An OID that no relation file has: a crash may leave files behind whose
// creation nobody remembers.
Result<Oid> GetNewRelFileNode(Backend& be) {
  for (;;) {
    ASSIGN_OR_RETURN(Oid oid, GetNewObjectId(be));
    ASSIGN_OR_RETURN(
        bool exists,
        SmgrExists(be, {kDefaultTableSpaceOid, kDatabaseOid, oid}, kMainFork));
    if (!exists) return oid;
  }
}

Status InsertCatalogRow(Backend& be, const RelationData& catalog,
                        HeapTuple tuple) {
  return HeapInsert(be, catalog, &tuple, GetCurrentCommandId(be, true));
}

Status InsertAttributeRows(Backend& be, const RelationData& rel) {
  ASSIGN_OR_RETURN(Relation catalog, RelationById(be, kAttributeRelationId));
  for (size_t i = 0; i < rel.rd_att.size(); ++i) {
    ASSIGN_OR_RETURN(
        HeapTuple tuple,
        FormPgAttributeTuple(catalog->rd_att, rel.rd_id,
                             static_cast<int16_t>(i + 1), rel.rd_att[i]));
    RETURN_IF_ERROR(InsertCatalogRow(be, *catalog, std::move(tuple)));
  }
  ASSIGN_OR_RETURN(std::vector<HeapTuple> system,
                   FormSystemAttributeTuples(catalog->rd_att, rel.rd_id));
  for (HeapTuple& tuple : system) {
    RETURN_IF_ERROR(InsertCatalogRow(be, *catalog, std::move(tuple)));
  }
  return {};
}

// ---------------------------------------------------------------- bootstrap

// The xmin of a bootstrapped row: frozen, so that no clog is asked.
void FreezeTuple(HeapTuple* tuple, ItemPointerData self) {
  HeapTupleHeaderData* header = tuple->header();
  header->t_xmin = kBootstrapTransactionId;
  header->t_xmax = kInvalidTransactionId;
  header->t_cid = kFirstCommandId;
  header->t_ctid = self;
  header->t_infomask |= HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID;
}

// Fills one new page with as many of the rows as fit, from *next on.
Status BootStrapPage(Backend& be, const RelFileNode& rnode,
                     std::vector<HeapTuple>* rows, size_t* next) {
  ASSIGN_OR_RETURN(Buffer buffer, ExtendRelation(be, rnode, kMainFork));
  BufferGuard guard(be, buffer, true);
  CriticalSection crit(be);
  PageInit(guard.page(), 0);
  BlockNumber block = BufferGetTag(be, buffer).blockNum;
  for (; *next < rows->size(); ++*next) {
    HeapTuple& row = (*rows)[*next];
    if (PageGetHeapFreeSpace(guard.page()) < MaxAlign(row.data.size())) break;
    OffsetNumber offset =
        static_cast<OffsetNumber>(PageGetMaxOffsetNumber(guard.page()) + 1);
    FreezeTuple(&row, {block, offset});
    OffsetNumber placed =
        PageAddItem(guard.page(), row.data, kInvalidOffsetNumber, false, true);
    SIM_CHECK(placed == offset);
  }
  MarkBufferDirty(be, buffer);
  LogNewPageBuffer(be, buffer, true);
  return {};
}

Status BootStrapRelation(Backend& be, const Relation& rel,
                         std::vector<HeapTuple> rows) {
  RETURN_IF_ERROR(SmgrCreate(be, rel->rd_node, kMainFork, false));
  LogSmgrCreate(be, rel->rd_node, kMainFork);
  size_t next = 0;
  while (next < rows.size()) {
    RETURN_IF_ERROR(BootStrapPage(be, rel->rd_node, &rows, &next));
  }
  return {};
}

Result<HeapTuple> BootStrapClassRow(const TupleDesc& desc,
                                    const Relation& rel) {
  PgClassRow row;
  row.oid = rel->rd_id;
  row.relname = rel->relname;
  row.relnamespace = PG_CATALOG_NAMESPACE;
  row.relfilenode = kInvalidOid;  // mapped
  row.relreplident = 'n';
  row.relnatts = static_cast<int16_t>(rel->rd_att.size());
  return FormPgClassTuple(desc, row);
}

Status BootStrapAttributeRows(const TupleDesc& desc, const Relation& rel,
                              std::vector<HeapTuple>* out) {
  for (size_t i = 0; i < rel->rd_att.size(); ++i) {
    ASSIGN_OR_RETURN(
        HeapTuple tuple,
        FormPgAttributeTuple(desc, rel->rd_id, static_cast<int16_t>(i + 1),
                             rel->rd_att[i]));
    out->push_back(std::move(tuple));
  }
  ASSIGN_OR_RETURN(std::vector<HeapTuple> system,
                   FormSystemAttributeTuples(desc, rel->rd_id));
  for (HeapTuple& tuple : system) out->push_back(std::move(tuple));
  return {};
}

}  // namespace

Status BootStrapCatalog(Backend& be) {
  const Relation pg_attribute = PgAttributeRelation();
  const Relation pg_class = PgClassRelation();
  std::vector<HeapTuple> class_rows;
  std::vector<HeapTuple> attribute_rows;
  for (const Relation& rel : {pg_attribute, pg_class}) {
    ASSIGN_OR_RETURN(HeapTuple row, BootStrapClassRow(pg_class->rd_att, rel));
    class_rows.push_back(std::move(row));
    RETURN_IF_ERROR(
        BootStrapAttributeRows(pg_attribute->rd_att, rel, &attribute_rows));
  }
  RETURN_IF_ERROR(
      BootStrapRelation(be, pg_attribute, std::move(attribute_rows)));
  return BootStrapRelation(be, pg_class, std::move(class_rows));
}

Result<Relation> CreateTable(Backend& be, std::string_view name,
                             const TupleDesc& desc, int fillfactor) {
  RETURN_IF_ERROR(ReserveName(be, std::string(name)));
  Result<Relation> existing = RelationByName(be, name);
  if (existing.ok()) {
    return SqlError(ERRCODE_DUPLICATE_TABLE, "relation \"{}\" already exists",
                    name);
  }
  if (existing.status().sqlstate() != ERRCODE_UNDEFINED_TABLE) return existing;
  ASSIGN_OR_RETURN(Oid oid, GetNewRelFileNode(be));
  auto rel = std::make_shared<RelationData>();
  rel->rd_id = oid;
  rel->relname = name;
  rel->rd_node = {kDefaultTableSpaceOid, kDatabaseOid, oid};
  rel->rd_att = desc;
  rel->fillfactor = fillfactor;
  RETURN_IF_ERROR(RelationCreateStorage(be, rel->rd_node));

  RegisterXactCallback(be, [](Backend& backend, bool) {
    CatalogShared& shared = SharedCatalog(backend);
    env::AtomicSection sinval_write_lock(&shared.generation);
    ++shared.generation;
  });
  PgClassRow row;
  row.oid = oid;
  row.relname = name;
  row.relfilenode = oid;
  row.relnatts = static_cast<int16_t>(desc.size());
  row.relfrozenxid = GetOldestActiveTransactionId(be);
  row.fillfactor = fillfactor;
  ASSIGN_OR_RETURN(Relation catalog, RelationById(be, kRelationRelationId));
  ASSIGN_OR_RETURN(HeapTuple tuple, FormPgClassTuple(catalog->rd_att, row));
  RETURN_IF_ERROR(InsertCatalogRow(be, *catalog, std::move(tuple)));
  RETURN_IF_ERROR(InsertAttributeRows(be, *rel));
  return Relation(std::move(rel));
}

}  // namespace engine
