// ImageTap, ImageSource: who watches, and who dictates, what a crash image
// shows.
//
// A power loss turns sizes, names and sectors into cells: each has several
// legal states, of which one is determined when somebody looks (names and
// sizes: at the power loss itself). A source answers in place of the draws; a
// tap is told every answer, in the order of the questions. What recovery reads
// of an image is therefore a path of answers, and two images with one path are
// one state to whoever read them.
#ifndef MUSTH_SIM_IMAGE_TAP_H_
#define MUSTH_SIM_IMAGE_TAP_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sim {

struct ImageCell {
  enum class Kind : uint8_t {
    kSector,
    kSize,    // of a file
    kPrefix,  // of the log of directory operations (MetaMode::kOrdered)
    kEntry,   // one directory operation (MetaMode::kWeak)
  };
  Kind kind = Kind::kSector;
  uint64_t inode = 0;  // kSector, kSize
  uint64_t index = 0;  // kSector: the sector; kEntry: the operation
  // Power losses so far: a cell may be undetermined once after each.
  uint64_t crash = 0;

  auto operator<=>(const ImageCell&) const = default;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // Which of the states 0 (oldest) .. newest the cell has. Must be the same
  // whenever the same cell is asked for: copies of a disk ask, too.
  virtual size_t Pick(const ImageCell& cell, size_t newest) const = 0;
};

class ImageTap {
 public:
  virtual ~ImageTap() = default;
  // The cell is determined as state `picked`. contents has a number for each
  // state; equal numbers stand for equal contents.
  virtual void OnCell(const ImageCell& cell, size_t picked,
                      std::span<const uint64_t> contents) = 0;
};

}  // namespace sim

#endif  // MUSTH_SIM_IMAGE_TAP_H_
