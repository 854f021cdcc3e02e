// The simulated disk: what a clone, a write and a crash image cost.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/disk.h"

namespace sim {
namespace {

// The world's side of the device, with drawn choices and no tasks.
class BenchHost : public DeviceHost, public env::EventSink {
 public:
  BenchHost() : choices_(1), scope_(Scope::FromPath("w0/h0/i0")) {}
  void DevicePoint(DeviceStep, uint64_t) override {}
  void DeviceDelay(env::TimeNs) override {}
  env::TimeNs Now() override { return 0; }
  Choices& choices() override { return choices_; }
  const Scope& scope() override { return scope_; }
  env::EventSink& events() override { return *this; }
  void Emit(env::Event event) override { last_ = event.a[3]; }

 private:
  Choices choices_;
  Scope scope_;
  uint64_t last_ = 0;
};

std::unique_ptr<env::File> Open(Disk* disk, const std::string& path) {
  return std::move(disk->Open(path, env::kOpenWrite | env::kOpenCreate))
      .value();
}

// A cluster of 10 MB in 320 files, all durable.
std::unique_ptr<Disk> Cluster() {
  auto disk = std::make_unique<Disk>(DiskOptions{});
  std::string page(8192, 'p');
  SIM_CHECK(disk->Mkdir("base").ok());
  for (int i = 0; i < 320; ++i) {
    std::unique_ptr<env::File> file =
        Open(disk.get(), fmt::format("base/{}", i));
    for (int block = 0; block < 4; ++block) {
      SIM_CHECK(file->Pwrite(block * 8192, page).ok());
    }
  }
  return disk->ImageCopy();
}

void CloneOfTenMegabytes(benchmark::State& state) {
  std::unique_ptr<Disk> disk = Cluster();
  for (auto _ : state) {
    std::unique_ptr<Disk> copy = disk->Clone();
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CloneOfTenMegabytes);

// One crash state of a fan-out: clone, crash with 40 pages pending, read one.
void CrashImageOfFortyPages(benchmark::State& state) {
  BenchHost host;
  std::unique_ptr<Disk> disk = Cluster();
  disk->Attach(&host, nullptr);
  std::string page(8192, 'q');
  std::vector<std::unique_ptr<env::File>> files;
  for (int i = 0; i < 10; ++i) {
    files.push_back(Open(disk.get(), fmt::format("base/{}", i)));
    for (int block = 0; block < 4; ++block) {
      SIM_CHECK(files.back()->Pwrite(block * 8192, page).ok());
    }
  }
  for (auto _ : state) {
    std::unique_ptr<Disk> copy = disk->Clone();
    copy->Attach(&host, nullptr);
    copy->PowerLoss();
    std::unique_ptr<env::File> file = Open(copy.get(), "base/3");
    SIM_CHECK(file->Pread(0, page).ok());
  }
}
BENCHMARK(CrashImageOfFortyPages);

void WriteOfAPageAndFsync(benchmark::State& state) {
  BenchHost host;
  Disk disk(DiskOptions{});
  disk.Attach(&host, nullptr);
  std::unique_ptr<env::File> file = Open(&disk, "f");
  std::string page(8192, 'q');
  for (auto _ : state) {
    SIM_CHECK(file->Pwrite(8192, page).ok());
    SIM_CHECK(file->Fsync().ok());
  }
}
BENCHMARK(WriteOfAPageAndFsync);

void WriteOfAPage(benchmark::State& state) {
  BenchHost host;
  Disk disk(DiskOptions{});
  disk.Attach(&host, nullptr);
  std::unique_ptr<env::File> file = Open(&disk, "f");
  std::string page(8192, 'q');
  int64_t block = 0;
  for (auto _ : state) {
    SIM_CHECK(file->Pwrite(block * 8192, page).ok());
    block = (block + 1) % 64;
  }
}
BENCHMARK(WriteOfAPage);

void ReadOfAPage(benchmark::State& state) {
  BenchHost host;
  std::unique_ptr<Disk> disk = Cluster();
  disk->Attach(&host, nullptr);
  std::unique_ptr<env::File> file = Open(disk.get(), "base/3");
  std::string page(8192, 'q');
  for (auto _ : state) {
    SIM_CHECK(file->Pread(8192, page).ok());
  }
}
BENCHMARK(ReadOfAPage);

// Records of 300 bytes to the end of a file, as a log is written.
void AppendOfARecord(benchmark::State& state) {
  BenchHost host;
  Disk disk(DiskOptions{});
  disk.Attach(&host, nullptr);
  std::unique_ptr<env::File> file = Open(&disk, "f");
  std::string record(300, 'r');
  int64_t offset = 0;
  for (auto _ : state) {
    SIM_CHECK(file->Pwrite(offset, record).ok());
    offset = (offset + 300) % (1 << 22);
  }
}
BENCHMARK(AppendOfARecord);

}  // namespace
}  // namespace sim

BENCHMARK_MAIN();
