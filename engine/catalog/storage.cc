#include "engine/catalog/storage.h"

#include <cstring>

#include "engine/common/errcodes.h"
#include "engine/smgr/smgr.h"
#include "engine/txn/xact.h"
#include "engine/wal/rmgr.h"
#include "engine/wal/xloginsert.h"

namespace engine {
namespace {

// Source: src/include/catalog/storage_xlog.h.
constexpr uint8_t XLOG_SMGR_CREATE = 0x10;
constexpr uint8_t XLR_INFO_MASK = 0x0F;

struct xl_smgr_create {
  RelFileNode rnode;
  int32_t forkNum;
};
static_assert(sizeof(xl_smgr_create) == 16);

}  // namespace

void LogSmgrCreate(Backend& be, const RelFileNode& rnode, ForkNumber fork) {
  xl_smgr_create xlrec{rnode, fork};
  XLogInsertion record(be);
  record.RegisterData(&xlrec, sizeof(xlrec));
  record.Insert(RM_SMGR_ID, XLOG_SMGR_CREATE | XLR_SPECIAL_REL_UPDATE);
}

Status RelationCreateStorage(Backend& be, const RelFileNode& rnode) {
  // The abort record names the file, so there must be an xid for it.
  ASSIGN_OR_RETURN([[maybe_unused]] TransactionId xid,
                   GetCurrentTransactionId(be));
  RETURN_IF_ERROR(SmgrCreate(be, rnode, kMainFork, false));
  RegisterPendingDelete(be, rnode, false);
  LogSmgrCreate(be, rnode, kMainFork);
  return {};
}

Status SmgrRedo(Backend& be, XLogReaderState& record) {
  uint8_t op = record.info() & static_cast<uint8_t>(~XLR_INFO_MASK);
  if (op != XLOG_SMGR_CREATE) {
    return SqlError(ERRCODE_DATA_CORRUPTED, "smgr_redo: unknown op code {}",
                    op);
  }
  xl_smgr_create xlrec;
  std::string_view data = record.main_data();
  if (data.size() < sizeof(xlrec)) {
    return SqlError(ERRCODE_DATA_CORRUPTED, "smgr_redo: short record");
  }
  std::memcpy(&xlrec, data.data(), sizeof(xlrec));
  if (xlrec.forkNum < kMainFork || xlrec.forkNum > kInitFork) {
    return SqlError(ERRCODE_DATA_CORRUPTED, "smgr_redo: invalid fork {}",
                    xlrec.forkNum);
  }
  return SmgrCreate(be, xlrec.rnode, static_cast<ForkNumber>(xlrec.forkNum),
                    true);
}

}  // namespace engine
