// Traces: every event of a run in a file, and where two runs part.
//
// A file is one LZ4 frame that holds
//
//   "MUSTHTR1" | varint length, label | record ... | trailer
//   record:  kind+1 (1 byte) | mask of what follows (1 byte) | varints
//            mask bit 0..5: a[i] is not 0; bit 6: bytes; bit 7: host, task or
//            time differ from the record before
//            bytes: varint length, the bytes; of more than kKeptBytes only
//            that many, then their 64-bit hash
//   trailer: 0 (1 byte) | varint number of records | rolling hash (8 bytes)
//
// Rules
// 1. Files are input: a damaged one is reported, never trusted.
// 2. A file without trailer is the trace of a run that was cut short; its
//    events can still be read.
#ifndef MUSTH_SIM_TRACE_H_
#define MUSTH_SIM_TRACE_H_

#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "sim/env/status.h"
#include "sim/event_text.h"
#include "sim/events.h"

struct LZ4F_cctx_s;
struct LZ4F_dctx_s;

namespace sim {

// What a trace keeps of an event's bytes.
inline constexpr size_t kKeptBytes = 512;

class TraceWriter final : public EventSubscriber {
 public:
  // label is free text, e.g. the recipe. Errors: kIo.
  static env::Result<std::unique_ptr<TraceWriter>> Create(
      const std::string& path, std::string_view label);
  // Leaves a file without trailer unless Finish() was called.
  ~TraceWriter() override;

  void OnEvent(const env::Event& event) override;

  // Writes the trailer and closes the file. Errors: kIo, also those of writes
  // before.
  env::Status Finish();

 private:
  TraceWriter() = default;
  env::Status Start(const std::string& path, std::string_view label);
  void Flush();
  void Write(const void* data, size_t size);

  std::FILE* file_ = nullptr;
  LZ4F_cctx_s* context_ = nullptr;
  bool failed_ = false;
  std::string pending_;     // not compressed yet
  std::string compressed_;  // scratch
  env::Event previous_;
  RollingHash hash_;
  uint64_t count_ = 0;
};

class TraceReader {
 public:
  // Errors: kNotFound, kCorrupted, kIo.
  static env::Result<std::unique_ptr<TraceReader>> Open(
      const std::string& path);
  ~TraceReader();

  const std::string& label() const { return label_; }

  // Reads the next event; false at the end. event->bytes is valid until the
  // next call and holds at most kKeptBytes; bytes_hash() covers all of them.
  // Errors: kCorrupted, kIo.
  env::Result<bool> Next(env::Event* event);
  uint64_t bytes_hash() const { return bytes_hash_; }
  uint64_t bytes_length() const { return bytes_length_; }

  // After the end: the run's hash, and whether the trailer was there.
  uint64_t hash() const { return hash_; }
  bool complete() const { return complete_; }
  const TaskNames& names() const { return names_; }

 private:
  TraceReader() = default;
  env::Status Start(const std::string& path);
  // Makes at least n decompressed bytes available, or says that the file ends.
  env::Result<bool> Have(size_t n);
  env::Status Refill();
  env::Status ReadVarint(uint64_t* value);
  env::Status ReadBytes(env::Event* event);
  env::Status ReadTrailer();
  env::Status Corrupted(const char* what) const;

  std::string path_;
  std::FILE* file_ = nullptr;
  LZ4F_dctx_s* context_ = nullptr;
  bool frame_ended_ = false;
  bool frame_whole_ = false;  // ... with its end mark
  std::string input_;
  size_t input_at_ = 0;
  std::string data_;
  size_t at_ = 0;
  std::string label_;
  env::Event previous_;
  std::string bytes_;
  uint64_t bytes_hash_ = 0;
  uint64_t bytes_length_ = 0;
  TaskNames names_;
  uint64_t count_ = 0;
  uint64_t hash_ = 0;
  bool complete_ = false;
};

// Where two traces part.
struct TraceDiff {
  bool same = false;
  uint64_t index = 0;  // of the first event that differs
  std::string left;    // its line, or "(end of trace)"
  std::string right;
  std::deque<std::string> before;  // the last lines in common
};

// Errors: those of TraceReader.
env::Result<TraceDiff> CompareTraces(const std::string& left_path,
                                     const std::string& right_path,
                                     size_t context_lines = 5);

// Keeps the last lines of a run, for reports.
class TraceTail final : public EventSubscriber {
 public:
  explicit TraceTail(size_t lines) : lines_(lines) {}
  void OnEvent(const env::Event& event) override;
  // Oldest first, each ended by a newline.
  std::string Text() const;

 private:
  struct Kept {
    env::Event event;
    std::string bytes;
  };
  size_t lines_;
  std::deque<Kept> kept_;
  TaskNames names_;
};

}  // namespace sim

#endif  // MUSTH_SIM_TRACE_H_
