// Recipe: a run as a small text file.
//
//   musth-recipe 1
//   # Free comments, kept.
//   build musth-1 lz4-1.9.4 fmt-9.1.0 boost-1.74 pg_query-15
//   base seed
//   seed 4711
//   mode explore
//   profile pg-contract
//   knob shared_buffers 8
//   planted commit_acked_before_flush
//   edit drop s1.t3
//   override schedule w0/h0/i0/b3 switch 17 = 2
//   setup accounts.sql <<END
//   CREATE TABLE t (a int4);
//   END
//   script 2 transfer.sql <<END
//   INSERT INTO t VALUES (1);
//   END
//   session 1 <<END
//   BEGIN;
//   UPDATE t SET a = 2;
//   COMMIT;
//   END
//   schedule w0/h0/i0/postmaster/s1@s1.q2 17 -> w0/h0/i0/postmaster/s2
//   hold before s2.q1 until s1 at commit_record_written
//   crash power-loss s1 at wal_after_fsync 2
//   image lose base/5/16384 0..7
//   fail fsync base/5/16384
//   fan-out lazy images 8 instants 4
//   expect-promise DUR
//   expect-gap C12
//   expect-hash 0123456789abcdef
//
// A block ends at the line that holds only the word behind its "<<"; a block
// whose text does not end with a line break is written with "<<-" (the last
// line break is not part of the text). A seed alone is a recipe, too. With
// sessions there is no generated workload. A schedule line says who goes on
// after a task's n-th operation since the statement behind "@" was sent; with
// any of them tasks keep running everywhere else. crash, image, fail and hold
// are directions (faults/directions.h). books says of sessions that they are
// whole transactions of pgbench's own scripts, so that all four of its sums are
// equal, or the pairs of them. fan-out: properties/fan_out_spec.h.
#ifndef MUSTH_REPLAY_RECIPE_H_
#define MUSTH_REPLAY_RECIPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/run.h"
#include "sim/env/status.h"

namespace replay {

inline constexpr int kRecipeFormat = 1;

// What a run depends on besides its recipe: Musth's own version and those of
// the libraries that take part, but no compiler and no flags.
std::string BuildId();

struct Recipe {
  // Lines after '#', in the order of the file.
  std::vector<std::string> comments;
  // Of the build that wrote the recipe; empty: none is named.
  std::string build;
  properties::RunSpec spec;
  // What the run is to yield, if the recipe says so.
  std::optional<uint64_t> expect_hash;
  std::string expect_promise;
  std::vector<std::string> expect_gaps;  // contract rows
};

std::string FormatRecipe(const Recipe& recipe);

// file is for messages. Errors: kInvalid, "file:line: " and what was expected.
env::Result<Recipe> ParseRecipe(std::string_view text, std::string_view file);

// Of a seed ("4711") or of a recipe file. Errors: as ParseRecipe; kNotFound,
// kIo if the file cannot be read.
env::Result<Recipe> LoadRecipe(const std::string& seed_or_file);

}  // namespace replay

#endif  // MUSTH_REPLAY_RECIPE_H_
