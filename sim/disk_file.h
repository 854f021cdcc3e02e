// DiskFile: a program's handle on an inode of a simulated disk.
#ifndef MUSTH_SIM_DISK_FILE_H_
#define MUSTH_SIM_DISK_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "sim/disk_state.h"
#include "sim/env/files.h"

namespace sim {

class DiskFile : public env::File {
 public:
  DiskFile(DiskState* state, InodeNo inode, std::string_view path,
           uint32_t flags);
  ~DiskFile() override;

  env::Result<int64_t> Pread(int64_t offset, std::span<char> out) override;
  env::Result<int64_t> Pwrite(int64_t offset,
                              std::span<const char> data) override;
  env::Status Fsync() override { return Sync(); }
  env::Status Fdatasync() override { return Sync(); }
  env::Status StartWriteback(int64_t offset, int64_t length) override;
  env::Status Truncate(int64_t size_bytes) override;
  env::Status Allocate(int64_t offset, int64_t length) override;
  env::Result<int64_t> Size() override;

 private:
  // The disk. Requires: no crash since the handle was opened.
  DiskState& State() const;
  env::Status Sync();
  env::Result<int64_t> DsyncWrite(int64_t offset, std::span<const char> data);
  void WriteVisible(int64_t offset, std::span<const char> data);
  env::Status Resize(int64_t size_bytes);
  env::Status RequireWritable(int64_t end) const;
  // SFM-20, SFM-21: how many of the bytes this call transfers.
  // Suspends: yes. Errors: kInterrupted, kNoSpace.
  // A misdirected read (SFM-30) sets *from to where it reads instead.
  env::Result<int64_t> LimitTransfer(Transfer transfer, int64_t offset,
                                     int64_t length, int64_t* from);
  // Where a misdirected read reads: `page` pages further on, inside the file.
  int64_t Elsewhere(int64_t offset, int64_t length, int64_t page);
  env::Result<int64_t> LimitToSpace(int64_t offset, int64_t length);
  // Asks the faults whether the flush that is about to start fails.
  SyncFailure AskFailure();
  bool NoSpaceToFlush() const;
  // The middle and the end of a flush. Suspends: yes.
  env::Status FinishFlush(FileData::Flush flush, SyncFailure failure);
  void FailFlush(FileData::Flush* flush, SyncFailure failure);
  // The sectors that the failed flush loses, a subset of what it covers, at
  // least one; strikes their stamps out of it.
  void LoseSectors(FileData::Flush* flush, SyncFailure failure);
  bool ErrorUnseen() const;
  env::Status ReportError();

  std::shared_ptr<Lease> lease_;
  InodeNo inode_;
  std::string path_;
  uint32_t flags_;
  uint64_t errors_seen_;
};

}  // namespace sim

#endif  // MUSTH_SIM_DISK_FILE_H_
