// Creating and dropping relation files under WAL.
// Source: src/backend/catalog/storage.c.
#ifndef MUSTH_ENGINE_CATALOG_STORAGE_H_
#define MUSTH_ENGINE_CATALOG_STORAGE_H_

#include "engine/common/backend.h"
#include "engine/wal/xlogreader.h"

namespace engine {

// Creates the main fork and logs it; the file is dropped if the transaction
// aborts. Suspends: yes. WAL: XLOG_SMGR_CREATE.
// Errors: those of SmgrCreate.
Status RelationCreateStorage(Backend& be, const RelFileNode& rnode);
// The record alone. Suspends: yes.
void LogSmgrCreate(Backend& be, const RelFileNode& rnode, ForkNumber fork);

// Errors: ERRCODE_DATA_CORRUPTED for a record that cannot be; I/O.
Status SmgrRedo(Backend& be, XLogReaderState& record);

}  // namespace engine

#endif  // MUSTH_ENGINE_CATALOG_STORAGE_H_
