// KeepHeap: memory that a run frees stays with the process.
//
// A run allocates and frees megabytes. Giving them back to the kernel each
// time, glibc's default, costs a third of a campaign in page faults and TLB
// flushes. The cost: a worker keeps its peak, some ten megabytes.
#ifndef MUSTH_REPLAY_KEEP_HEAP_H_
#define MUSTH_REPLAY_KEEP_HEAP_H_

#include <malloc.h>

namespace replay {

// Call once, when the process starts; workers inherit it.
inline void KeepHeap() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
}

}  // namespace replay

#endif  // MUSTH_REPLAY_KEEP_HEAP_H_
