#include "sim/trace.h"

#include <fmt/format.h>
#include <lz4frame.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sim {
namespace {

constexpr std::string_view kMagic = "MUSTHTR1";
constexpr size_t kBlock = 64 * 1024;
constexpr uint8_t kBytesBit = 1 << 6;
constexpr uint8_t kPlaceBit = 1 << 7;

void AppendVarint(std::string* out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out->push_back(static_cast<char>(v | 0x80));
  out->push_back(static_cast<char>(v));
}

void AppendFixed64(std::string* out, uint64_t v) {
  char raw[8];
  std::memcpy(raw, &v, sizeof(raw));
  out->append(raw, sizeof(raw));
}

bool SamePlace(const env::Event& a, const env::Event& b) {
  return a.host == b.host && a.task == b.task && a.time_ns == b.time_ns;
}

void AppendRecord(std::string* out, const env::Event& e,
                  const env::Event& previous) {
  uint8_t mask = 0;
  for (int i = 0; i < 6; ++i) mask |= (e.a[i] != 0) << i;
  if (!e.bytes.empty()) mask |= kBytesBit;
  if (!SamePlace(e, previous)) mask |= kPlaceBit;
  out->push_back(static_cast<char>(static_cast<int>(e.kind) + 1));
  out->push_back(static_cast<char>(mask));
  if ((mask & kPlaceBit) != 0) {
    AppendVarint(out, e.host);
    AppendVarint(out, e.task);
    AppendVarint(out, static_cast<uint64_t>(e.time_ns - previous.time_ns));
  }
  for (uint64_t a : e.a) {
    if (a != 0) AppendVarint(out, a);
  }
  if (e.bytes.empty()) return;
  AppendVarint(out, e.bytes.size());
  out->append(e.bytes.substr(0, kKeptBytes));
  if (e.bytes.size() > kKeptBytes) AppendFixed64(out, HashBytes(e.bytes));
}

env::Status IoError(const std::string& path, int error) {
  return env::Status(
      error == ENOENT ? env::Code::kNotFound : env::Code::kIo,
      fmt::format("could not open file \"{}\": {}", path, strerror(error)));
}

}  // namespace

// ---- Writer

env::Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(
    const std::string& path, std::string_view label) {
  std::unique_ptr<TraceWriter> writer(new TraceWriter);
  RETURN_IF_ERROR(writer->Start(path, label));
  return writer;
}

env::Status TraceWriter::Start(const std::string& path,
                               std::string_view label) {
  file_ = std::fopen(path.c_str(), "wb");
  if (file_ == nullptr) return IoError(path, errno);
  SIM_CHECK(
      !LZ4F_isError(LZ4F_createCompressionContext(&context_, LZ4F_VERSION)));
  compressed_.resize(LZ4F_compressBound(2 * kBlock, nullptr));
  size_t n = LZ4F_compressBegin(context_, compressed_.data(),
                                compressed_.size(), nullptr);
  SIM_CHECK(!LZ4F_isError(n));
  Write(compressed_.data(), n);
  pending_ = kMagic;
  AppendVarint(&pending_, label.size());
  pending_ += label;
  return env::Status();
}

TraceWriter::~TraceWriter() {
  if (file_ != nullptr) {
    Flush();
    std::fclose(file_);
  }
  LZ4F_freeCompressionContext(context_);
}

void TraceWriter::Write(const void* data, size_t size) {
  if (std::fwrite(data, 1, size, file_) != size) failed_ = true;
}

void TraceWriter::Flush() {
  for (size_t at = 0; at < pending_.size(); at += kBlock) {
    size_t size = std::min(kBlock, pending_.size() - at);
    size_t n =
        LZ4F_compressUpdate(context_, compressed_.data(), compressed_.size(),
                            pending_.data() + at, size, nullptr);
    SIM_CHECK(!LZ4F_isError(n));
    Write(compressed_.data(), n);
  }
  pending_.clear();
}

void TraceWriter::OnEvent(const env::Event& event) {
  AppendRecord(&pending_, event, previous_);
  hash_.Add(event);
  previous_ = event;
  previous_.bytes = {};
  ++count_;
  if (pending_.size() >= kBlock) Flush();
}

env::Status TraceWriter::Finish() {
  SIM_CHECK(file_ != nullptr);
  pending_.push_back('\0');
  AppendVarint(&pending_, count_);
  AppendFixed64(&pending_, hash_.value());
  Flush();
  size_t n = LZ4F_compressEnd(context_, compressed_.data(), compressed_.size(),
                              nullptr);
  SIM_CHECK(!LZ4F_isError(n));
  Write(compressed_.data(), n);
  if (std::fclose(std::exchange(file_, nullptr)) != 0) failed_ = true;
  if (failed_) return env::Status(env::Code::kIo, "could not write the trace");
  return env::Status();
}

// ---- Reader

env::Result<std::unique_ptr<TraceReader>> TraceReader::Open(
    const std::string& path) {
  std::unique_ptr<TraceReader> reader(new TraceReader);
  RETURN_IF_ERROR(reader->Start(path));
  return reader;
}

env::Status TraceReader::Start(const std::string& path) {
  path_ = path;
  file_ = std::fopen(path.c_str(), "rb");
  if (file_ == nullptr) return IoError(path, errno);
  SIM_CHECK(
      !LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)));
  ASSIGN_OR_RETURN(bool have, Have(kMagic.size()));
  if (!have || std::string_view(data_).substr(0, kMagic.size()) != kMagic) {
    return Corrupted("not a trace");
  }
  at_ = kMagic.size();
  uint64_t length = 0;
  RETURN_IF_ERROR(ReadVarint(&length));
  if (length > (1 << 24)) return Corrupted("label too long");
  ASSIGN_OR_RETURN(have, Have(length));
  if (!have) return Corrupted("label cut short");
  label_ = data_.substr(at_, length);
  at_ += length;
  return env::Status();
}

TraceReader::~TraceReader() {
  if (file_ != nullptr) std::fclose(file_);
  LZ4F_freeDecompressionContext(context_);
}

env::Status TraceReader::Corrupted(const char* what) const {
  return env::Status(
      env::Code::kCorrupted,
      fmt::format("trace file \"{}\": {} at event {}", path_, what, count_));
}

env::Result<bool> TraceReader::Have(size_t n) {
  while (data_.size() - at_ < n) {
    if (frame_ended_) return false;
    size_t before = data_.size() - at_;
    RETURN_IF_ERROR(Refill());
    if (data_.size() - at_ == before && frame_ended_) return false;
  }
  return true;
}

// Decompresses one more piece; sets frame_ended_ when there is none.
env::Status TraceReader::Refill() {
  data_.erase(0, std::exchange(at_, 0));
  if (input_at_ == input_.size()) {
    input_.resize(kBlock);
    size_t n = std::fread(input_.data(), 1, kBlock, file_);
    if (n == 0 && std::ferror(file_) != 0) {
      return env::Status(env::Code::kIo,
                         fmt::format("could not read file \"{}\"", path_));
    }
    input_.resize(n);
    input_at_ = 0;
    if (n == 0) {
      frame_ended_ = true;
      return env::Status();
    }
  }
  size_t old_size = data_.size();
  data_.resize(old_size + kBlock);
  size_t out = kBlock;
  size_t in = input_.size() - input_at_;
  size_t hint = LZ4F_decompress(context_, data_.data() + old_size, &out,
                                input_.data() + input_at_, &in, nullptr);
  data_.resize(old_size + (LZ4F_isError(hint) ? 0 : out));
  if (LZ4F_isError(hint)) return Corrupted("bad LZ4 data");
  input_at_ += in;
  if (hint == 0) frame_ended_ = frame_whole_ = true;
  return env::Status();
}

env::Status TraceReader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    ASSIGN_OR_RETURN(bool have, Have(1));
    if (!have) return Corrupted("record cut short");
    auto byte = static_cast<unsigned char>(data_[at_++]);
    *value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return env::Status();
  }
  return Corrupted("bad number");
}

env::Status TraceReader::ReadBytes(env::Event* event) {
  RETURN_IF_ERROR(ReadVarint(&bytes_length_));
  size_t kept = std::min<uint64_t>(bytes_length_, kKeptBytes);
  size_t hash_size = bytes_length_ > kKeptBytes ? 8 : 0;
  ASSIGN_OR_RETURN(bool have, Have(kept + hash_size));
  if (!have) return Corrupted("bytes cut short");
  bytes_ = data_.substr(at_, kept);
  at_ += kept;
  if (hash_size == 0) {
    bytes_hash_ = HashBytes(bytes_);
  } else {
    std::memcpy(&bytes_hash_, data_.data() + at_, 8);
    at_ += 8;
  }
  event->bytes = bytes_;
  return env::Status();
}

env::Status TraceReader::ReadTrailer() {
  uint64_t count = 0;
  RETURN_IF_ERROR(ReadVarint(&count));
  if (count != count_) return Corrupted("wrong number of events");
  ASSIGN_OR_RETURN(bool have, Have(8));
  if (!have) return Corrupted("hash cut short");
  std::memcpy(&hash_, data_.data() + at_, 8);
  at_ += 8;
  ASSIGN_OR_RETURN(bool more, Have(1));
  if (more) return Corrupted("bytes behind the end");
  if (!frame_whole_) return Corrupted("end cut short");
  complete_ = true;
  return env::Status();
}

env::Result<bool> TraceReader::Next(env::Event* event) {
  if (complete_) return false;
  ASSIGN_OR_RETURN(bool have, Have(2));
  if (!have) return false;
  auto kind = static_cast<unsigned char>(data_[at_++]);
  if (kind == 0) {
    RETURN_IF_ERROR(ReadTrailer());
    return false;
  }
  if (kind > static_cast<int>(env::EventKind::kCount)) {
    return Corrupted("unknown event");
  }
  auto mask = static_cast<unsigned char>(data_[at_++]);
  *event = previous_;
  event->kind = static_cast<env::EventKind>(kind - 1);
  if ((mask & kPlaceBit) != 0) {
    uint64_t word = 0;
    RETURN_IF_ERROR(ReadVarint(&word));
    event->host = static_cast<env::HostId>(word);
    RETURN_IF_ERROR(ReadVarint(&word));
    event->task = static_cast<env::TaskId>(word);
    RETURN_IF_ERROR(ReadVarint(&word));
    event->time_ns =
        static_cast<env::TimeNs>(static_cast<uint64_t>(event->time_ns) + word);
  }
  for (int i = 0; i < 6; ++i) {
    event->a[i] = 0;
    if ((mask >> i & 1) != 0) RETURN_IF_ERROR(ReadVarint(&event->a[i]));
  }
  bytes_length_ = 0;
  bytes_hash_ = 0;
  if ((mask & kBytesBit) != 0) RETURN_IF_ERROR(ReadBytes(event));
  event->seq = count_++;
  previous_ = *event;
  previous_.bytes = {};
  names_.Learn(*event);
  return true;
}

// ---- Comparison

namespace {

bool SameEvent(const env::Event& a, const TraceReader& ra, const env::Event& b,
               const TraceReader& rb) {
  return a.kind == b.kind && SamePlace(a, b) &&
         std::memcmp(a.a, b.a, sizeof(a.a)) == 0 &&
         ra.bytes_length() == rb.bytes_length() &&
         ra.bytes_hash() == rb.bytes_hash();
}

std::string LineOf(bool have, const env::Event& event,
                   const TraceReader& reader) {
  if (!have) return "(end of trace)";
  return EventLine(event, reader.names());
}

}  // namespace

env::Result<TraceDiff> CompareTraces(const std::string& left_path,
                                     const std::string& right_path,
                                     size_t context_lines) {
  ASSIGN_OR_RETURN(auto left, TraceReader::Open(left_path));
  ASSIGN_OR_RETURN(auto right, TraceReader::Open(right_path));
  TraceDiff diff;
  while (true) {
    env::Event a;
    env::Event b;
    ASSIGN_OR_RETURN(bool have_a, left->Next(&a));
    ASSIGN_OR_RETURN(bool have_b, right->Next(&b));
    if (!have_a && !have_b) {
      diff.same = left->complete() == right->complete() &&
                  left->hash() == right->hash();
      if (diff.same) return diff;
    }
    if (!have_a || !have_b || !SameEvent(a, *left, b, *right)) {
      diff.left = LineOf(have_a, a, *left);
      diff.right = LineOf(have_b, b, *right);
      return diff;
    }
    ++diff.index;
    diff.before.push_back(EventLine(a, left->names()));
    if (diff.before.size() > context_lines) diff.before.pop_front();
  }
}

void TraceTail::OnEvent(const env::Event& event) {
  names_.Learn(event);
  kept_.push_back({event, std::string(event.bytes.substr(0, kKeptBytes))});
  kept_.back().event.bytes = {};
  if (kept_.size() > lines_) kept_.pop_front();
}

std::string TraceTail::Text() const {
  std::string out;
  for (const Kept& kept : kept_) {
    env::Event event = kept.event;
    event.bytes = kept.bytes;
    out += EventLine(event, names_) + "\n";
  }
  return out;
}

}  // namespace sim
