#include "runtime/rerun.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "support/error_text.hpp"
#include "tessera/runtime/buffer.hpp"
#include "trial/map_job.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

namespace {

constexpr unsigned char poison_byte = 0xff;  // a NaN in every floating-point type

// Recorded memory on a device, and launches that use it.
class JobExecutor final : public tune::Executor {
 public:
  JobExecutor(std::shared_ptr<detail::DeviceState> device, std::unique_ptr<Timer> timer,
              const std::vector<tune::RecordBuffer>& buffers, std::size_t candidates)
      : device_(std::move(device)),
        timer_(std::move(timer)),
        buffers_(buffers),
        plans_(candidates),
        executables_(candidates) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) make_memory(i);
  }

  void add(std::size_t candidate, const trial::Job& job, const std::vector<char>& cubin) {
    auto kernel = std::make_shared<ir::thread::Kernel>();
    kernel->name = job.function;
    kernel->warps = static_cast<int>(job.threads / 32);
    kernel->shared_bytes = job.shared_bytes;
    kernel->cluster = job.cluster;
    kernel->dependent_launch = job.dependent;
    executables_[candidate] = device_->load(std::move(kernel), cubin);
    LaunchPlan& plan = plans_[candidate];
    for (std::size_t axis = 0; axis < 3; ++axis) plan.grid[axis] = job.grid[axis];
    for (const trial::Param& param : job.params) plan.values.push_back(value(param));
    for (const trial::MapJob& map : job.maps) plan.maps.push_back(encode(map));
    for (std::int64_t& v : plan.values) plan.params.push_back(&v);
    for (jit::EncodedTensorMap& map : plan.maps) plan.params.push_back(&map);
  }

  std::vector<tune::Output> run(std::size_t candidate, std::vector<tune::Output> recycled) override {
    restore(true);
    executables_[candidate]->launch(plans_[candidate], nullptr);
    device_->synchronize();
    std::vector<tune::Output> outputs;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].region.written) continue;
      tune::Output output;
      if (outputs.size() < recycled.size()) output = std::move(recycled[outputs.size()]);
      output.param = static_cast<std::uint32_t>(i);
      output.type = buffers_[i].type;
      output.bytes.resize(buffers_[i].region.bytes);
      device_->copy_out(output.bytes.data(), reinterpret_cast<const void*>(address(i)), output.bytes.size());
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

  double time(std::size_t candidate) override {
    restore(false);
    return timer_->milliseconds(*executables_[candidate], plans_[candidate]);
  }

 private:
  void make_memory(std::size_t i) {
    const std::size_t bytes = buffers_[i].region.bytes + trial::copy_alignment;
    memory_.push_back(std::make_unique<detail::Memory>(device_, bytes));
    pristine_.push_back(nullptr);
    if (!buffers_[i].region.read) return;
    fill(*memory_.back(), buffers_[i].type, bytes, i + 1);
    if (!buffers_[i].region.written) return;
    pristine_.back() = std::make_unique<detail::Memory>(device_, bytes);
    fill(*pristine_.back(), buffers_[i].type, bytes, i + 1);
  }
  void fill(const detail::Memory& memory, DType type, std::size_t bytes, std::uint64_t seed) {
    if (is_float(type)) {
      detail::fill_normal(memory, type, bytes / static_cast<std::size_t>(size_of(type)), seed);
    } else {
      device_->fill(memory.data(), 0, bytes);  // numbers that are indices must not point anywhere
    }
  }
  std::uintptr_t address(std::size_t buffer) const {
    return reinterpret_cast<std::uintptr_t>(memory_[buffer]->data()) + buffers_[buffer].region.misalignment;
  }
  std::int64_t value(const trial::Param& param) const {
    if (param.region == trial::no_region) return param.value;
    return static_cast<std::int64_t>(address(static_cast<std::size_t>(param.region))) + param.value;
  }
  jit::EncodedTensorMap encode(const trial::MapJob& job) const {
    jit::EncodedTensorMap result;
    if (job.empty) return result;
    ResolvedMap resolved;
    resolved.base = static_cast<std::uint64_t>(value(job.base));
    resolved.dims = job.dims;
    resolved.strides = job.strides;
    device_->encode(trial::tensor_map_of(job), resolved, &result);
    return result;
  }
  void restore(bool poison) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].region.written) continue;
      auto* at = reinterpret_cast<void*>(address(i));
      if (pristine_[i]) {
        const auto from = reinterpret_cast<std::uintptr_t>(pristine_[i]->data()) + buffers_[i].region.misalignment;
        device_->copy(at, reinterpret_cast<const void*>(from), buffers_[i].region.bytes);
      } else if (poison) {
        device_->fill(at, poison_byte, buffers_[i].region.bytes);
      }
    }
  }

  std::shared_ptr<detail::DeviceState> device_;
  std::unique_ptr<Timer> timer_;
  const std::vector<tune::RecordBuffer>& buffers_;
  std::vector<std::unique_ptr<detail::Memory>> memory_, pristine_;  // the latter: of what is read and written
  std::vector<LaunchPlan> plans_;
  std::vector<std::unique_ptr<Executable>> executables_;
};

void check_device(const tune::Record& record, const detail::DeviceState& device) {
  if (record.device == device.name() && record.driver == device.driver()) return;
  throw Error(ErrorKind::user, {},
              fmt::format("the record of {} was made on {} with driver {}, this is {} with driver {}", record.kernel,
                          record.device, record.driver, device.name(), device.driver()),
              "run it where the record holds; a program that meets another device makes a record of its own");
}

// Loads what can be measured again; those rows take part.
std::vector<CandidateReport> take_part(const tune::Record& record, const Cache& cache, JobExecutor* executor) {
  std::vector<CandidateReport> rows;
  for (const tune::RecordRow& row : record.rows) {
    CandidateReport report = row.report;
    if (report.status == Status::ranked || report.status == Status::chosen) report.status = Status::unused;
    const bool built = row.launch && row.report.status != Status::pruned;
    if (built && cache.load(row.launch->entry, true, true)) {
      report = CandidateReport();
      report.config = row.report.config;
      report.warps = row.report.warps;
      report.shared_bytes = row.report.shared_bytes;
      report.register_estimate = row.report.register_estimate;
      report.registers = row.report.registers;
      report.spill_bytes = row.report.spill_bytes;
      report.remarks = row.report.remarks;
      report.status = Status::ranked;
      try {
        executor->add(rows.size(), row.launch->job, cache.load(row.launch->entry, true)->compiled.cubin);
      } catch (const Error& error) {
        report.status = Status::failed;
        report.reason = first_message(error);
      }
    }
    rows.push_back(std::move(report));
  }
  return rows;
}

// What was measured takes the place of what the record said; the rest stays.
tune::Record updated(const tune::Record& old, const std::vector<CandidateReport>& rows, std::size_t winner,
                     const std::vector<char>& took_part) {
  tune::Record result = old;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tune::RecordRow& row = result.rows[i];
    if (took_part[i] != 0) {
      row.report = rows[i];
      row.measured = tune::seconds_since_1970();
    } else if (row.report.status == Status::chosen) {
      row.report.status = Status::ranked;
    }
  }
  result.chosen = true;
  result.winner = rows[winner].config;
  result.text_hash = result.rows[winner].text_hash;
  std::vector<CandidateReport> all;
  for (const tune::RecordRow& row : result.rows) all.push_back(row.report);
  result.complete = tune::complete(all);
  result.updated = tune::seconds_since_1970();
  return result;
}

}  // namespace

tune::Record rerun(const tune::Record& record, const std::shared_ptr<detail::DeviceState>& device, const Cache& cache,
                   std::optional<double> seconds, ProgressTask* progress) {
  check_device(record, *device);
  std::unique_ptr<Timer> timer = device->make_timer();
  if (!timer) throw Error(ErrorKind::user, {}, fmt::format("{} has no clock", device->name()), "use a GPU");
  JobExecutor executor(device, std::move(timer), record.buffers, record.rows.size());
  std::vector<CandidateReport> rows = take_part(record, cache, &executor);
  std::vector<char> took_part;
  for (const CandidateReport& row : rows) took_part.push_back(row.status == Status::ranked ? 1 : 0);
  if (std::count(took_part.begin(), took_part.end(), 1) == 0) {
    throw Error(ErrorKind::user, {},
                fmt::format("none of the {} candidates of {} can be measured again: the cache has no cubin of them",
                            rows.size(), record.kernel),
                "run the program, which compiles and measures them");
  }
  const auto begin = std::chrono::steady_clock::now();
  tune::Options options;
  options.enough = [&] {
    return seconds && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >= *seconds;
  };
  if (seconds) options.enough_reason = fmt::format("the budget of {:g} s was spent", *seconds);
  // The fastest first, so that a budget leaves out the least promising.
  for (std::size_t i = 0; i < rows.size(); ++i) options.order.push_back(i);
  const auto before = [&](std::size_t i) {
    const CandidateReport& row = record.rows[i].report;
    return std::make_pair(row.time_us <= 0, row.time_us);
  };
  std::stable_sort(options.order.begin(), options.order.end(),
                   [&](std::size_t a, std::size_t b) { return before(a) < before(b); });
  tune::Progress steps;
  if (progress != nullptr) {
    steps.phase = [&](const std::string& name, std::size_t total) { progress->phase(name, total); };
    steps.advance = [&] { progress->advance(); };
  }
  const std::size_t winner = tune::measure(rows, executor, record.kernel, {}, options, steps);
  return updated(record, rows, winner, took_part);
}

}  // namespace tessera::runtime
