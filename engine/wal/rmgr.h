// Resource managers: who replays a record. Bound by the node, so that the log
// knows no layer above it.
// Source: src/include/access/rmgrlist.h.
#ifndef MUSTH_ENGINE_WAL_RMGR_H_
#define MUSTH_ENGINE_WAL_RMGR_H_

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "engine/common/backend.h"

namespace engine {

class XLogReaderState;  // xlogreader.h: one decoded record

inline constexpr RmgrId RM_XLOG_ID = 0;
inline constexpr RmgrId RM_XACT_ID = 1;
inline constexpr RmgrId RM_SMGR_ID = 2;
inline constexpr RmgrId RM_CLOG_ID = 3;
inline constexpr RmgrId RM_HEAP2_ID = 9;
inline constexpr RmgrId RM_HEAP_ID = 10;
inline constexpr RmgrId RM_BTREE_ID = 11;
inline constexpr RmgrId RM_SEQ_ID = 15;

struct RmgrData {
  const char* rm_name = nullptr;
  // Applies the record. Errors end recovery with a PANIC that names the LSN.
  Status (*rm_redo)(Backend& be, XLogReaderState& record) = nullptr;
};

using RmgrTable = std::array<RmgrData, 256>;

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_RMGR_H_
