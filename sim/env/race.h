// Race checks: what ThreadSanitizer is told about the simulated processes.
//
// In a build with ThreadSanitizer (--config=tsan) every task counts as a thread
// of its own and a switch between tasks orders nothing. Only simulated locks
// do: whoever takes one tells RaceAcquire, whoever gives it up RaceRelease. An
// access to shared memory that no lock orders is then reported although one OS
// thread runs everything and the bad interleaving never happened.
//
// Only the node's own code is watched. The world, its devices, oracles and
// drivers stand outside: their tasks begin Unwatched, and so is each call
// through an env interface.
//
// Elsewhere all of this is empty.
#ifndef MUSTH_SIM_ENV_RACE_H_
#define MUSTH_SIM_ENV_RACE_H_

#include <cstddef>

#include "sim/env/access.h"
#include "sim/env/current.h"

#if defined(__SANITIZE_THREAD__)
#define MUSTH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MUSTH_TSAN 1
#endif
#endif

#ifdef MUSTH_TSAN
#include <sanitizer/tsan_interface.h>

// Exported by the run-time library, declared by no header of it.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void __tsan_read_range(void* begin, long size_bytes);
void __tsan_write_range(void* begin, long size_bytes);
}
#endif

namespace env {

// The caller has taken `lock`: what was done before its releases is ordered
// before what the caller does from here on. Any address serves as a name.
inline void RaceAcquire([[maybe_unused]] const void* lock) {
#ifdef MUSTH_TSAN
  __tsan_acquire(const_cast<void*>(lock));
#endif
}

// The caller gives up `lock`.
inline void RaceRelease([[maybe_unused]] const void* lock) {
#ifdef MUSTH_TSAN
  __tsan_release(const_cast<void*>(lock));
#endif
}

// The caller is about to read the bytes, or has just written them, by way of
// code that is not watched.
inline void RaceRead([[maybe_unused]] const void* begin,
                     [[maybe_unused]] size_t size_bytes) {
#ifdef MUSTH_TSAN
  __tsan_read_range(const_cast<void*>(begin), static_cast<long>(size_bytes));
#endif
}
inline void RaceWrite([[maybe_unused]] void* begin,
                      [[maybe_unused]] size_t size_bytes) {
#ifdef MUSTH_TSAN
  __tsan_write_range(begin, static_cast<long>(size_bytes));
#endif
}

inline void RaceIgnoreBegin() {
#ifdef MUSTH_TSAN
  AnnotateIgnoreReadsBegin("", 0);
  AnnotateIgnoreWritesBegin("", 0);
#endif
}

inline void RaceIgnoreEnd() {
#ifdef MUSTH_TSAN
  AnnotateIgnoreWritesEnd("", 0);
  AnnotateIgnoreReadsEnd("", 0);
#endif
}

// The scope's accesses are not judged. Nests. For the world, and for the
// insides of simulated locks.
class Unwatched {
 public:
  Unwatched() { RaceIgnoreBegin(); }
  ~Unwatched() { RaceIgnoreEnd(); }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

// The node's code runs in this scope. Requires: directly within one Unwatched,
// or at the beginning of a task.
class Watched {
 public:
  Watched() { RaceIgnoreEnd(); }
  ~Watched() { RaceIgnoreBegin(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

// For SIM_CHECKs of race checks themselves.
inline void CountAtomicSection([[maybe_unused]] int change) {
#ifdef MUSTH_TSAN
  Unwatched unwatched;
  Current().atomic_sections += change;
#endif
}

// Stands for the spinlock, the atomic instruction or the briefly held lock by
// which PostgreSQL protects this stretch of code. Nothing in its scope
// suspends, so nothing has to be locked here; a real server would have to. The
// variable's name is PostgreSQL's name of the lock; any address may stand for
// it.
class AtomicSection {
 public:
#ifdef MUSTH_TSAN
  explicit AtomicSection(const void* lock) : lock_(lock) {
    CountAtomicSection(1);
    NoteAccess(lock_, true);
    RaceAcquire(lock_);
  }
  ~AtomicSection() {
    RaceRelease(lock_);
    CountAtomicSection(-1);
  }
#else
  explicit AtomicSection(const void* lock) { NoteAccess(lock, true); }
  ~AtomicSection() {}
#endif
  AtomicSection(const AtomicSection&) = delete;
  AtomicSection& operator=(const AtomicSection&) = delete;

#ifdef MUSTH_TSAN
 private:
  const void* lock_;
#endif
};

// The scope touches shared memory as PostgreSQL does there, too: without a lock
// that orders it. `why` says what makes that harmless.
class UnlockedAccess {
 public:
  explicit UnlockedAccess(const char* /*why*/) { RaceIgnoreBegin(); }
  ~UnlockedAccess() { RaceIgnoreEnd(); }
  UnlockedAccess(const UnlockedAccess&) = delete;
  UnlockedAccess& operator=(const UnlockedAccess&) = delete;
};

// The same for a single read.
template <typename T>
T UnlockedRead(const T& shared, const char* why) {
  UnlockedAccess unlocked(why);
  return shared;
}

}  // namespace env

#endif  // MUSTH_SIM_ENV_RACE_H_
