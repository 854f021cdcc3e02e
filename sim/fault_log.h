// FaultLog: where a disk shows bytes that nobody wrote there.
//
// One record per damaged range, in the order of damage. A record says what the
// range showed, sector by sector (a hash of each), so that whether damage is
// still there is a question to the content and not to a history: an overwrite
// that a power loss takes back brings it back, a rename carries it along, and
// a clone answers for itself. Faults without content (a sector that cannot be
// read) say so and end when whoever injected them says.
//
// The judges ask which faults a page or a stretch of WAL suffers from; a
// refusal that names none of them is a false alarm.
#ifndef MUSTH_SIM_FAULT_LOG_H_
#define MUSTH_SIM_FAULT_LOG_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// What was done to a range; SFM-n of the fault model.
enum class Damage : uint8_t {
  kGarbageFill,  // SFM-11: a sector never written shows noise
  kStaleFill,    // SFM-11: ... or bytes of a freed sector
  kReadError,    // SFM-19
  kBitRot,       // SFM-25
  kGarbage,      // SFM-26
  kZeroed,       // SFM-27
  kLostWrite,    // SFM-28: the range keeps what it held before
  kMisdirected,  // SFM-29: the range got another one's bytes
  kMissedWrite,  // SFM-29: ... or keeps its own, the new ones went elsewhere
  kMisread,      // SFM-30: a read returned another range, once
  kShorn,        // SFM-31
  kLyingFlush,   // SFM-32
  kCount,
};
inline constexpr int kDamageCount = static_cast<int>(Damage::kCount);
// SFM-11: what a crash extends a file with.
constexpr bool IsFill(Damage damage) {
  return damage == Damage::kGarbageFill || damage == Damage::kStaleFill;
}
// "garbage_fill"; as in events and reports.
const char* DamageName(Damage damage);

struct FaultRecord {
  uint64_t id = 0;  // 1, 2, ... in the order of injection
  Damage damage = Damage::kGarbageFill;
  uint64_t inode = 0;
  std::string path;  // the file's name when it was injected
  int64_t offset = 0;
  int64_t bytes = 0;
  // Hashes of the sectors (512 bytes) from offset on, as damaged; empty: the
  // fault lasts until it is ended.
  std::vector<uint64_t> sectors;
  bool ended = false;
  bool seen = false;  // a program read from the range since
  // ... and was shown nothing but zeros, from a page's start on.
  bool seen_as_zeros = false;

  bool Overlaps(uint64_t file, int64_t from, int64_t length) const {
    return inode == file && offset < from + length && from < offset + bytes;
  }
};

// The hash that FaultRecord::sectors holds of one sector.
uint64_t HashSector(const char* bytes);

class FaultLog {
 public:
  // Copies the 512 bytes at an offset of a file, as they are visible now, to
  // out; false if they cannot be told (not in the file, undetermined).
  using SectorReader = std::function<bool(int64_t offset, char* out)>;

  // Returns the new record's id. Joins sectors that follow the latest record's
  // without a gap inside one 8 KiB page: then the id is that one's. Requires:
  // with sectors, offset and bytes are multiples of 512.
  uint64_t Add(Damage damage, uint64_t inode, std::string_view path,
               int64_t offset, int64_t bytes,
               std::span<const uint64_t> sectors);
  // The fault of a range that has no content to tell by is over.
  void End(uint64_t id);
  // A program was shown bytes of the range; zeros: no other ones.
  void NoteRead(uint64_t inode, int64_t offset, int64_t bytes,
                bool zeros = false);

  bool empty() const { return records_.empty(); }
  std::span<const FaultRecord> records() const { return records_; }

  // Ids of the faults that bytes [offset, offset + bytes) of the file suffer
  // from, ascending.
  std::vector<uint64_t> LiveIn(uint64_t inode, int64_t offset, int64_t bytes,
                               const SectorReader& read) const;

 private:
  std::vector<FaultRecord> records_;
};

}  // namespace sim

#endif  // MUSTH_SIM_FAULT_LOG_H_
