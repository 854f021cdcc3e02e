// InterruptFd: Ctrl-C and SIGTERM as something to poll.
#ifndef MUSTH_REPLAY_INTERRUPT_FD_H_
#define MUSTH_REPLAY_INTERRUPT_FD_H_

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace replay {

// Turns SIGINT and SIGTERM into something to poll, for its lifetime. Workers
// inherit the blocked signals: Ctrl-C reaches them, too, and must not look
// like a death.
class InterruptFd {
 public:
  InterruptFd() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~InterruptFd() {
    // What has been noticed must not strike when the signals are unblocked.
    Interrupted();
    close(fd_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  InterruptFd(const InterruptFd&) = delete;
  InterruptFd& operator=(const InterruptFd&) = delete;

  int fd() const { return fd_; }
  bool Interrupted() {
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof(info)) == sizeof(info)) interrupted_ = true;
    return interrupted_;
  }

 private:
  sigset_t before_;
  int fd_ = -1;
  bool interrupted_ = false;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_INTERRUPT_FD_H_
