#include "sim/image_search.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace sim {
namespace {

ImageCell Sector(uint64_t index) {
  return {ImageCell::Kind::kSector, 1, index, 1};
}

TEST(ImagePath, SurvivesItsText) {
  for (const char* text : {"newest", "1", "0,1", "3*0,1,2*2,0,4"}) {
    env::Result<ImagePath> path = ParseImagePath(text);
    ASSERT_TRUE(path.ok()) << text;
    EXPECT_EQ(ImagePathToText(*path), text);
  }
  EXPECT_EQ(ImagePathToText({0, 0, 2, 0}), "2*0,2");
  for (const char* bad : {"", "x", "1,", "2*", "*1", "9999999*1", "-1"}) {
    env::Result<ImagePath> path = ParseImagePath(bad);
    EXPECT_FALSE(path.ok()) << bad;
  }
}

// A reader that asks for sector 0 and, if that shows 7, for sector 1.
void Read(const ImageSource& source, ImageTap* tap, std::string* seen) {
  std::vector<uint64_t> first = {5, 6, 7};
  size_t picked = source.Pick(Sector(0), 2);
  tap->OnCell(Sector(0), picked, first);
  *seen = std::to_string(first[picked]);
  if (first[picked] != 7) return;
  std::vector<uint64_t> second = {1, 9, 9};
  picked = source.Pick(Sector(1), 2);
  tap->OnCell(Sector(1), picked, second);
  *seen += std::to_string(second[picked]);
}

TEST(ImageEnumerator, HasEveryImageOnceNewestFirst) {
  ImageEnumerator images;
  std::vector<std::string> seen;
  std::vector<std::string> paths;
  do {
    images.Begin();
    std::string text;
    Read(images, &images, &text);
    seen.push_back(text);
    paths.push_back(ImagePathToText(images.Path()));
  } while (images.Next());
  // Two states of sector 1 look alike: one of them is enough.
  EXPECT_EQ(seen, (std::vector<std::string>{"79", "71", "6", "5"}));
  EXPECT_EQ(paths, (std::vector<std::string>{"newest", "0,2", "1", "2"}));
  EXPECT_EQ(images.equal_states(), 1u);
  EXPECT_TRUE(images.consistent());
}

TEST(ImageEnumerator, NoticesAReaderThatDependsOnMoreThanItReads) {
  ImageEnumerator images;
  for (uint64_t run = 0; run < 2; ++run) {
    images.Begin();
    std::vector<uint64_t> contents = {run, 10 + run};
    images.OnCell(Sector(run), images.Pick(Sector(run), 1), contents);
    if (run == 0) images.Next();
  }
  EXPECT_FALSE(images.consistent());
}

TEST(ImageReplay, ShowsThePathAgain) {
  ImageEnumerator images;
  do {
    images.Begin();
    std::string text;
    Read(images, &images, &text);
    ImageReplay replay(images.Path());
    std::string again;
    for (int pass = 0; pass < 2; ++pass) {
      replay.Begin();
      Read(replay, &replay, &again);
    }
    EXPECT_EQ(again, text);
    EXPECT_TRUE(replay.fits());
  } while (images.Next());
  ImageReplay too_long({0, 0, 1});
  std::string text;
  Read(too_long, &too_long, &text);
  EXPECT_FALSE(too_long.fits());
}

TEST(ImageTree, AnImageThatReadsWhatAnotherOneReadIsTheSameState) {
  ImageTree tree;
  auto ends = [&tree](std::vector<std::pair<uint64_t, size_t>> answers) {
    ImageTree::Walk walk(&tree);
    std::vector<uint64_t> contents = {3, 4};
    for (auto [sector, picked] : answers) {
      walk.OnCell(Sector(sector), picked, contents);
    }
    bool is_new = walk.End();
    EXPECT_TRUE(walk.consistent()) << walk.difference();
    // Judges look at more; that makes no other state.
    walk.OnCell(Sector(99), 0, contents);
    EXPECT_TRUE(walk.consistent());
    EXPECT_EQ(walk.path().size(), answers.size() + 1);
    return is_new;
  };
  EXPECT_TRUE(ends({{0, 1}, {1, 1}}));
  EXPECT_TRUE(ends({{0, 1}, {1, 0}}));
  EXPECT_FALSE(ends({{0, 1}, {1, 1}}));
  EXPECT_TRUE(ends({{0, 0}}));

  ImageTree::Walk other(&tree);
  std::vector<uint64_t> contents = {3, 4};
  other.OnCell(Sector(5), 0, contents);
  EXPECT_FALSE(other.consistent());
  EXPECT_NE(other.difference().find("sector 5 of inode 1, before it was sector "
                                    "0 of inode 1"),
            std::string::npos)
      << other.difference();
}

}  // namespace
}  // namespace sim
