// Image search: which crash images are the same to those who look at them, and
// all images there are.
//
// Whoever recovers an image asks for its cells one after the other, and what it
// asks for next depends on what it was shown before and on nothing else. The
// answers of all images of one disk therefore make a tree:
//
//   size of base/5/16384?
//     8192 ── sector 3 of base/5/16384?
//     │         a1f0.. ── (end)
//     │         77c2.. ── sector 9 of pg_wal/..01? ...
//     16384 ── ...
//
// ImageTree keeps it for sampled images: an image whose answers lead to an end
// that another one has reached needs no recovery. ImageEnumerator walks it
// depth first with every answer, newest first; only the path under way is kept.
// States of equal content are one answer.
#ifndef MUSTH_SIM_IMAGE_SEARCH_H_
#define MUSTH_SIM_IMAGE_SEARCH_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/disk.h"
#include "sim/env/status.h"
#include "sim/image_tap.h"

namespace sim {

// How far behind the newest state each cell was, in the order of the questions:
// the address of an image. Cells beyond the end have their newest state.
using ImagePath = std::vector<uint32_t>;
// "sector 17 of inode 5".
std::string ToString(const ImageCell& cell);
// "3*0,1,2*0,4": runs of equal numbers; "newest" if there is none but 0.
std::string ImagePathToText(const ImagePath& path);
// Errors: kInvalid.
env::Result<ImagePath> ParseImagePath(std::string_view text);

class ImageTree {
 public:
  // The questions and answers of one image, from the root on.
  class Walk : public ImageTap {
   public:
    explicit Walk(ImageTree* tree) : tree_(tree) {}
    void OnCell(const ImageCell& cell, size_t picked,
                std::span<const uint64_t> contents) override;
    // True if the answers that the disk would give from here on lead to an end
    // that is known. Moves nothing.
    bool Known(const Disk& disk) const;
    // The reader is done. True if no other walk has ended here. What is asked
    // later, by judges, only makes the path longer.
    bool End();
    // False: a question was asked where another walk was asked another one. The
    // image's reader depends on something else, too.
    bool consistent() const { return difference_.empty(); }
    // What was asked, and what before; empty while that is the same.
    const std::string& difference() const { return difference_; }
    const ImagePath& path() const { return path_; }

   private:
    ImageTree* tree_;
    size_t at_ = 0;
    bool ended_ = false;
    std::string difference_;
    ImagePath path_;
  };

 private:
  struct Node {
    bool asked = false;
    ImageCell cell;
    bool end = false;
    std::map<uint64_t, size_t> next;  // by content
  };
  std::deque<Node> nodes_ = std::deque<Node>(1);
};

// Every image of one disk, one after the other:
//
//   ImageEnumerator images;
//   do {
//     copy = disk.Clone(); copy.SetImageSource(&images);
//     copy.SetImageTap(&images); images.Begin();
//     ... power loss, recovery, checks ...
//   } while (images.Next());
class ImageEnumerator : public ImageSource, public ImageTap {
 public:
  // Before each image.
  void Begin() { asked_ = 0; }
  size_t Pick(const ImageCell& cell, size_t newest) const override;
  void OnCell(const ImageCell& cell, size_t picked,
              std::span<const uint64_t> contents) override;
  // Steps to the next image; false if there is none.
  bool Next();

  // Cells asked so far, in this image.
  size_t asked() const { return asked_; }
  // Images before this one had the same answers to so many questions.
  size_t shared() const { return shared_; }
  ImagePath Path() const;
  // States that were left out because one with the same content was tried.
  uint64_t equal_states() const { return equal_states_; }
  bool consistent() const { return consistent_; }

 private:
  struct Step {
    ImageCell cell;
    size_t newest = 0;
    std::vector<size_t> states;  // to try; the last one is being tried
  };
  std::vector<Step> steps_;
  std::map<ImageCell, size_t> picks_;  // of steps_
  size_t asked_ = 0;
  size_t shared_ = 0;
  uint64_t equal_states_ = 0;
  bool consistent_ = true;
};

// One image again. Two passes: the first one learns which cell is which.
class ImageReplay : public ImageSource, public ImageTap {
 public:
  explicit ImageReplay(ImagePath path) : path_(std::move(path)) {}
  void Begin() { asked_ = 0; }
  size_t Pick(const ImageCell& cell, size_t newest) const override;
  void OnCell(const ImageCell& cell, size_t picked,
              std::span<const uint64_t> contents) override;
  // Numbers of the path that no cell had, or that were too large for it.
  bool fits() const { return fits_ && asked_ >= path_.size(); }

 private:
  ImagePath path_;
  std::map<ImageCell, size_t> picks_;
  size_t asked_ = 0;
  bool fits_ = true;
};

}  // namespace sim

#endif  // MUSTH_SIM_IMAGE_SEARCH_H_
