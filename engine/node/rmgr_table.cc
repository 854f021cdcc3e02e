#include "engine/node/rmgr_table.h"

#include "engine/catalog/storage.h"
#include "engine/heap/heapam.h"
#include "engine/txn/clog.h"
#include "engine/txn/xact.h"
#include "engine/wal/xlog_redo.h"

namespace engine {

RmgrTable MakeRmgrTable() {
  RmgrTable table = {};
  table[RM_XLOG_ID] = {"XLOG", XlogRedo};
  table[RM_XACT_ID] = {"Transaction", XactRedo};
  table[RM_SMGR_ID] = {"Storage", SmgrRedo};
  table[RM_CLOG_ID] = {"CLOG", ClogRedo};
  table[RM_HEAP2_ID] = {"Heap2", Heap2Redo};
  table[RM_HEAP_ID] = {"Heap", HeapRedo};
  return table;
}

}  // namespace engine
