#include "runtime/job_executor.hpp"

#include "trial/map_job.hpp"

namespace tessera::runtime {

JobExecutor::JobExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, trial::Candidates candidates)
    : LocalExecutor(device, std::move(timer)),
      candidates_(std::move(candidates)),
      plans_(candidates_.jobs.size()),
      executables_(candidates_.jobs.size()) {
  for (std::size_t i = 0; i < candidates_.regions.size(); ++i) {
    const trial::Region& region = candidates_.regions[i];
    make_copy(i, region.bytes, region.misalignment);
    if (region.read && region.written) {
      restore_from(i, make_content(i));
    } else if (region.written) {
      poison_with(i, region.poison);
    } else {
      std::vector<std::byte> content(region.bytes);
      candidates_.fill(i, content);
      device.copy_in(reinterpret_cast<void*>(copy(i)), content.data(), content.size());
    }
  }
  expect_outputs(candidates_.outputs);
}

std::uintptr_t JobExecutor::make_content(std::size_t region) {
  std::vector<std::byte> content(candidates_.regions[region].bytes);
  candidates_.fill(region, content);
  contents_.push_back(std::make_unique<detail::Memory>(device().shared_from_this(), content.size()));
  detail::copy_in(*contents_.back(), content.data(), content.size());
  return reinterpret_cast<std::uintptr_t>(contents_.back()->data());
}

LocalExecutor::Ready JobExecutor::ready(std::size_t candidate) {
  if (!executables_[candidate]) {
    const trial::Job& job = candidates_.jobs[candidate];
    auto kernel = std::make_shared<ir::thread::Kernel>();
    kernel->name = job.function;
    kernel->warps = static_cast<int>(job.threads / 32);
    kernel->shared_bytes = job.shared_bytes;
    kernel->cluster = job.cluster;
    kernel->dependent_launch = job.dependent;
    plans_[candidate] = plan_of(job);
    plans_[candidate].point();
    executables_[candidate] = device().load(std::move(kernel), job.cubin);
  }
  return {*executables_[candidate], plans_[candidate]};
}

LaunchPlan JobExecutor::plan_of(const trial::Job& job) const {
  LaunchPlan plan;
  for (std::size_t axis = 0; axis < 3; ++axis) plan.grid[axis] = job.grid[axis];
  for (const trial::Param& param : job.params) plan.values.push_back(value(param));
  for (const trial::MapJob& map : job.maps) plan.maps.push_back(encode(map));
  return plan;
}

std::int64_t JobExecutor::value(const trial::Param& param) const {
  if (param.region == trial::no_region) return param.value;
  return static_cast<std::int64_t>(copy(static_cast<std::size_t>(param.region))) + param.value;
}

jit::EncodedTensorMap JobExecutor::encode(const trial::MapJob& job) const {
  jit::EncodedTensorMap result;
  if (job.empty) return result;
  ResolvedMap resolved;
  resolved.base = static_cast<std::uint64_t>(value(job.base));
  resolved.dims = job.dims;
  resolved.strides = job.strides;
  device().encode(trial::tensor_map_of(job), resolved, &result);
  return result;
}

}  // namespace tessera::runtime
