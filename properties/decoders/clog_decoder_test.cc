#include "properties/decoders/clog_decoder.h"

#include <gtest/gtest.h>

#include "properties/decoders/testdata.h"

namespace properties {
namespace {

TEST(ClogDecoder, KnowsHowTheTransactionsOfARealServerEnded) {
  MemoryCluster files;
  files.Put("pg_xact/0000", ReadTestdata("pg15_clog.bin"));
  ClogDecoder clog(&files);
  EXPECT_EQ(clog.StatusOf(728), ClogStatus::kCommitted);
  EXPECT_EQ(clog.StatusOf(729), ClogStatus::kAborted);
  EXPECT_EQ(clog.StatusOf(730), ClogStatus::kCommitted);
  EXPECT_EQ(clog.StatusOf(731), ClogStatus::kAborted);
  EXPECT_EQ(clog.StatusOf(732), ClogStatus::kCommitted);
  EXPECT_EQ(clog.StatusOf(733), ClogStatus::kInProgress);
}

TEST(ClogDecoder, PermanentXidsNeedNoClogAndMissingPagesCommitNobody) {
  MemoryCluster files;
  files.Put("pg_xact/0001", std::string(8192, '\x55'));
  ClogDecoder clog(&files);
  EXPECT_FALSE(clog.IsCommitted(0));
  EXPECT_TRUE(clog.IsCommitted(1));
  EXPECT_TRUE(clog.IsCommitted(2));
  EXPECT_FALSE(clog.IsCommitted(3));
  EXPECT_EQ(ClogPath(32768 * 32), "pg_xact/0001");
  EXPECT_TRUE(clog.IsCommitted(32768 * 32 + 5));
  EXPECT_FALSE(clog.StatusOf(32768 * 33).has_value());
}

}  // namespace
}  // namespace properties
