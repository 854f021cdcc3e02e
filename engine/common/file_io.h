// Reading and writing all of a range: what ends early goes on where it stopped,
// and EINTR is no error. Callers name the file in their errors (file_error.h).
//
// Not for relation files, whose short transfers are errors as in mdread() and
// mdwrite(), nor for XLogWrite(), which counts what it has written.
#ifndef MUSTH_ENGINE_COMMON_FILE_IO_H_
#define MUSTH_ENGINE_COMMON_FILE_IO_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/common/types.h"
#include "sim/env/files.h"

namespace engine {

// Reads out.size() bytes from the offset on, fewer at the end of the file;
// returns how many. Suspends: yes. Errors: the device's.
Result<size_t> ReadFully(env::File& file, int64_t offset, std::span<char> out);

// Suspends: yes. Errors: the device's; a part may be written then.
Status WriteFully(env::File& file, int64_t offset, std::span<const char> bytes);

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_FILE_IO_H_
