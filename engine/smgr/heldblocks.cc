#include "engine/smgr/heldblocks.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/common/checksum.h"
#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/file_io.h"
#include "engine/smgr/smgr_internals.h"
#include "sim/env/race.h"

namespace engine {
namespace {

constexpr std::string_view kMagic = "HELDBLKS";

void AppendWord(std::string* out, uint32_t word) {
  char bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  out->append(bytes, sizeof bytes);
}

// Takes a word off the front; false if there is none.
bool TakeWord(std::string_view* bytes, uint32_t* word) {
  if (bytes->size() < sizeof *word) return false;
  std::memcpy(word, bytes->data(), sizeof *word);
  bytes->remove_prefix(sizeof *word);
  return true;
}

void AppendBits(std::string* out, const std::vector<bool>& blocks) {
  std::string bits((blocks.size() + 7) / 8, '\0');
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i]) {
      bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
    }
  }
  *out += bits;
}

// Takes one relation off the front; false if the bytes end too early.
bool TakeRelation(std::string_view* bytes, HeldBlocks* held) {
  RelFileNode rnode;
  uint32_t count = 0;
  if (!TakeWord(bytes, &rnode.spcNode) || !TakeWord(bytes, &rnode.dbNode) ||
      !TakeWord(bytes, &rnode.relNode) || !TakeWord(bytes, &count)) {
    return false;
  }
  size_t size = (size_t{count} + 7) / 8;
  if (bytes->size() < size) return false;
  std::vector<bool>& blocks = (*held)[rnode];
  blocks.resize(count);
  for (size_t i = 0; i < count; ++i) {
    blocks[i] = ((*bytes)[i / 8] >> (i % 8) & 1) != 0;
  }
  bytes->remove_prefix(size);
  return true;
}

std::string Encode(const HeldBlocks& held) {
  std::string body;
  AppendWord(&body, static_cast<uint32_t>(held.size()));
  for (const auto& [rnode, blocks] : held) {
    AppendWord(&body, rnode.spcNode);
    AppendWord(&body, rnode.dbNode);
    AppendWord(&body, rnode.relNode);
    AppendWord(&body, static_cast<uint32_t>(blocks.size()));
    AppendBits(&body, blocks);
  }
  std::string bytes(kMagic);
  AppendWord(&bytes, Crc32c(body));
  return bytes + body;
}

void Forget(HeldBlocks* held, const RelFileNode& rnode, BlockNumber first) {
  auto found = held->find(rnode);
  if (found == held->end()) return;
  if (first == 0) {
    held->erase(found);
  } else if (found->second.size() > first) {
    found->second.resize(first);
  }
}

// False if the bytes are not such a file.
bool Decode(std::string_view bytes, HeldBlocks* held) {
  if (bytes.substr(0, kMagic.size()) != kMagic) return false;
  bytes.remove_prefix(kMagic.size());
  uint32_t crc = 0;
  uint32_t relations = 0;
  if (!TakeWord(&bytes, &crc) || crc != Crc32c(bytes)) return false;
  if (!TakeWord(&bytes, &relations)) return false;
  for (uint32_t i = 0; i < relations; ++i) {
    if (!TakeRelation(&bytes, held)) return false;
  }
  return bytes.empty();
}

Status WriteWhole(Backend& be, std::string_view path, std::string_view bytes) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<env::File> file,
      be.env->files->Open(
          path, env::kOpenWrite | env::kOpenCreate | env::kOpenTruncate));
  RETURN_IF_ERROR(WriteFully(*file, 0, bytes));
  return file->Fsync();
}

Status ReadWhole(Backend& be, std::string* bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                   be.env->files->Open(kHeldBlocksPath, env::kOpenRead));
  ASSIGN_OR_RETURN(int64_t size, file->Size());
  bytes->resize(static_cast<size_t>(size));
  return ReadFully(*file, 0, *bytes).status();
}

// The file appears whole or not at all.
Status Replace(Backend& be, const std::string& bytes) {
  std::string path = fmt::format("{}.tmp", kHeldBlocksPath);
  RETURN_IF_ERROR(WriteWhole(be, path, bytes));
  RETURN_IF_ERROR(be.env->files->Rename(path, kHeldBlocksPath));
  return be.env->files->FsyncDir("global");
}

}  // namespace

void NoteHeldBlock(Backend& be, const RelFileNode& rnode, BlockNumber block) {
  HeldBlocks& held = SharedSmgr(be).held_blocks;
  env::AtomicSection held_blocks_lock(&held);
  std::vector<bool>& blocks = held[rnode];
  if (blocks.size() <= block) blocks.resize(size_t{block} + 1);
  blocks[block] = true;
}

bool IsHeldBlock(Backend& be, const RelFileNode& rnode, BlockNumber block) {
  const HeldBlocks& held = SharedSmgr(be).held_blocks;
  env::AtomicSection held_blocks_lock(&held);
  auto found = held.find(rnode);
  return found != held.end() && block < found->second.size() &&
         found->second[block];
}

void ForgetHeldBlocks(Backend& be, const RelFileNode& rnode,
                      BlockNumber first) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection held_blocks_lock(&shared.held_blocks);
  Forget(&shared.held_blocks, rnode, first);
  Forget(&shared.held_blocks_synced, rnode, first);
}

void BeginHeldBlocks(Backend& be) {
  SmgrShared& shared = SharedSmgr(be);
  env::AtomicSection held_blocks_lock(&shared.held_blocks);
  shared.held_blocks_synced = shared.held_blocks;
}

Status SaveHeldBlocks(Backend& be) {
  std::string bytes;
  {
    SmgrShared& shared = SharedSmgr(be);
    env::AtomicSection held_blocks_lock(&shared.held_blocks);
    bytes = Encode(shared.held_blocks_synced);
    shared.held_blocks_synced.clear();
  }
  Status status = Replace(be, bytes);
  if (status.ok()) return {};
  return FileAccessError(
      status, fmt::format("could not write file \"{}\"", kHeldBlocksPath));
}

Status LoadHeldBlocks(Backend& be) {
  std::string bytes;
  Status read = ReadWhole(be, &bytes);
  if (read.code() == env::Code::kNotFound) return {};
  if (!read.ok()) {
    return FileAccessError(
        read, fmt::format("could not read file \"{}\"", kHeldBlocksPath));
  }
  HeldBlocks held;
  if (!Decode(bytes, &held)) {
    return SqlError(ERRCODE_DATA_CORRUPTED, "incorrect checksum in file \"{}\"",
                    kHeldBlocksPath);
  }
  HeldBlocks& shared = SharedSmgr(be).held_blocks;
  env::AtomicSection held_blocks_lock(&shared);
  shared = std::move(held);
  return {};
}

}  // namespace engine
