// The resource managers of a node: binds the log to the layers above it.
// Source: src/include/access/rmgrlist.h.
#ifndef MUSTH_ENGINE_NODE_RMGR_TABLE_H_
#define MUSTH_ENGINE_NODE_RMGR_TABLE_H_

#include "engine/wal/rmgr.h"

namespace engine {

RmgrTable MakeRmgrTable();

}  // namespace engine

#endif  // MUSTH_ENGINE_NODE_RMGR_TABLE_H_
