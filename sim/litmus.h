// Litmus tests of the disk (FAULT_MODEL SFM-36): a small script and the set of
// all states that it may end in.
//
// The runner enumerates every outcome of every draw, depth first, and returns
// the states it saw. A script is a list of commands separated by ';':
//
//   create F | open F | opend F     open F as a handle named F (opend: O_DSYNC)
//   open H=F                        open F as a handle named H
//   write H OFFSET LENGTH CHAR      fsync H       truncate H SIZE
//   close H     unlink F     rename F G     mkdir D     rmdir D     syncdir D
//   settle      all that is visible becomes durable; handles are closed
//   cut         up to the next crash the power may fail at any device point
//   crash       power loss            pcrash  process crash
//   writeback   spontaneous           evict   clean pages leave the cache
//   fail [late|btrfs|lying]   the next fsync fails, as on ext4 with
//               data=ordered, ext4 with data=journal or btrfs, or only says
//               that it succeeded
//   short N     the next transfer moves N bytes     eintr  it is interrupted
//   full N      only N more bytes fit on the disk   roomy  no limit any more
//   during CMD  CMD runs while the next fsync is under way
//   read F [OFFSET LENGTH]   appends the content to the state's log
//   strike zeroed|garbage|unreadable F OFFSET LENGTH   a media fault
//   remember    from now on what flushes replace is kept, for the next two
//   lose F      the latest write to a page of F has not reached the media
//   misdirect F G OFFSET LENGTH   ... and its bytes [0, LENGTH) landed there
//   shear N     a pending sector is written out up to its byte N + 1
//   repair      removes all damage that was not overwritten
//   badread     the next read fails     misread N  it reads N pages further on
//   readonly    the file system turns read-only     shutdown  it stops
//
// A state reads "log | name=content ...", contents run-length encoded with '.'
// for zero bytes and '?' for a sector of garbage: "fsync:EIO | f=A512.512 d/".
#ifndef MUSTH_SIM_LITMUS_H_
#define MUSTH_SIM_LITMUS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "sim/disk.h"

namespace sim {

// All states that the script may end in under the options. Requires: no biased
// images, whose draws are too many to enumerate.
std::set<std::string> LitmusStates(const DiskOptions& options,
                                   std::string_view script);

// The states that `seeds` runs with drawn choices end in.
std::set<std::string> LitmusSample(const DiskOptions& options,
                                   std::string_view script, uint64_t seeds);

}  // namespace sim

#endif  // MUSTH_SIM_LITMUS_H_
