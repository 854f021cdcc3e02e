// The flush watermark: up to where the log was durable when somebody relied on
// it. An option beyond PostgreSQL (wal_flush_watermark), off by default.
//
// Damage inside the log looks like its end. Without a second witness recovery
// takes it for one, and everything behind it is gone without a word. The
// watermark is that witness: a sector of its own, written through to the device
// after the flush and before anyone is told of it, so that at every instant
// the log on the device reaches at least as far. Recovery that ends earlier is
// refused.
//
//   global/pg_wal_flushmark   two sectors, written in turn:
//                             magic 8 | LSN 8 | CRC-32C 4 | zeros to 512
//
// The sector that counts is the valid one with the greater LSN; the other one
// may be half written. Invariant: the greater LSN never goes back.
#ifndef MUSTH_ENGINE_WAL_FLUSHMARK_H_
#define MUSTH_ENGINE_WAL_FLUSHMARK_H_

#include "engine/common/backend.h"

namespace engine {

inline constexpr char kFlushMarkPath[] = "global/pg_wal_flushmark";

// Makes it durable that the log is flushed up to lsn, the end of a record.
// Requires: the option is on; the log is flushed that far.
// Suspends: yes. Errors: I/O is a PANIC.
void RaiseFlushMark(Backend& be, XLogRecPtr lsn);

// Judges the end that recovery found, and takes the mark over.
// Suspends: yes. Errors: ERRCODE_DATA_CORRUPTED.
Status CheckFlushMark(Backend& be, XLogRecPtr end_of_log);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_FLUSHMARK_H_
